-- Health of Adoptions for Argo CD: argocd-cm, resource.customizations.health.kubeannex.io_Adoption.
if obj.status == nil or obj.status.phase == nil then
  return { status = "Progressing", message = "Waiting for the controller to process the Adoption" }
end
local phase, said = obj.status.phase, {}
for _, condition in ipairs(obj.status.conditions or {}) do
  said[condition.type] = condition
end
local wanted = obj.spec ~= nil and obj.spec.servedBy == "Annex" and "Served" or "InSync"
if phase == wanted then
  return { status = "Healthy", message = phase }
end
local function text(name)
  return said[name] ~= nil and said[name].message or phase
end
if phase == "Failed" then
  return { status = "Degraded", message = said.Switched ~= nil and text("Switched") or text("Copied") }
end
if said.Switchable ~= nil and said.Switchable.status == "False" and phase == "InSync" then
  return { status = "Degraded", message = text("Switchable") }
end
return { status = "Progressing", message = phase .. ": " .. text(said.Ready ~= nil and "Ready" or "InSync") }
