module fairness

go 1.25
