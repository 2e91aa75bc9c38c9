-- Health of ResourceDefinitions for Argo CD: argocd-cm, resource.customizations.health.kubeannex.io_ResourceDefinition.
local health = { status = "Progressing", message = "Waiting for the type to be served" }
if obj.metadata.deletionTimestamp ~= nil then
  health.message = "Objects of the type are being deleted"
  return health
end
if obj.status == nil or obj.status.conditions == nil then
  return health
end
local state = {}
for _, condition in ipairs(obj.status.conditions) do
  state[condition.type] = condition.status
  local bad = condition.status == "False" and (condition.type == "NamesAccepted" or condition.type == "Registered")
  if bad or (condition.type == "NonStructuralSchema" and condition.status == "True") then
    return { status = "Degraded", message = condition.reason .. ": " .. condition.message }
  end
end
if state.Established == "True" and state.Registered == "True" then
  return { status = "Healthy", message = "The type is served" }
end
return health
