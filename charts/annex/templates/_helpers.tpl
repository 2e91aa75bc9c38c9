{{/* The name of all namespaced objects. A release name has at most 53 characters. */}}
{{- define "annex.name" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/*
Earlier charts truncated names to 52 characters. Existing objects of the release keep such a name: the ClusterRole owns the
APIServices, and the PersistentVolumeClaim holds the store. Takes a list: the context, apiVersion, kind, namespace.
*/}}
{{- define "annex.keptName" -}}
{{- $ := index . 0 -}}
{{- $name := include "annex.name" $ -}}
{{- $short := $.Release.Name | trunc 52 | trimSuffix "-" -}}
{{- $found := dict -}}
{{- if ne $name $short -}}
{{- $found = lookup (index . 1) (index . 2) (index . 3) $short -}}
{{- end -}}
{{- if eq (include "annex.ownerOf" (list $ $found)) "this" -}}
{{- $short -}}
{{- else -}}
{{- $name -}}
{{- end -}}
{{- end -}}

{{/* Whose an object of the cluster is: `this` release's, `another` one's, or that of no release. Takes a list: the context, the object or nothing. */}}
{{- define "annex.ownerOf" -}}
{{- $ := index . 0 -}}
{{- $annotations := dig "metadata" "annotations" dict (index . 1 | default dict) -}}
{{- $release := get $annotations "meta.helm.sh/release-name" -}}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" -}}
{{- if and (eq $release $.Release.Name) (eq $namespace $.Release.Namespace) -}}
this
{{- else if $release -}}
another
{{- end -}}
{{- end -}}

{{/*
The name of objects outside of the release's namespace. If a release of the same name in another namespace has it, the namespace
of this one is appended, and stays so when the other release is gone.
*/}}
{{- define "annex.clusterName" -}}
{{- $api := "rbac.authorization.k8s.io/v1" -}}
{{- $name := include "annex.keptName" (list . $api "ClusterRole" "") -}}
{{- $unique := printf "%s-%s" $name .Release.Namespace -}}
{{- $isTaken := eq (include "annex.ownerOf" (list . (lookup $api "ClusterRole" "" $name))) "another" -}}
{{- $isKept := eq (include "annex.ownerOf" (list . (lookup $api "ClusterRole" "" $unique))) "this" -}}
{{- ternary $unique $name (or $isTaken $isKept) -}}
{{- end -}}

{{- define "annex.claim" -}}
{{- .Values.storage.embedded.existingClaim | default (include "annex.keptName" (list . "v1" "PersistentVolumeClaim" .Release.Namespace)) -}}
{{- end -}}

{{- define "annex.selector" -}}
app.kubernetes.io/name: annex
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "annex.labels" -}}
app.kubernetes.io/name: annex
{{ include "annex.releaseLabels" . }}
{{- end -}}

{{/* Labels of pods that the Service and the Deployment must not select need a name of their own. */}}
{{- define "annex.releaseLabels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "annex.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "annex.name" .) -}}
{{- end -}}

{{- define "annex.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* The flags that `annex serve` and `annex doctor` share. */}}
{{- define "annex.flags" -}}
- --service-name={{ include "annex.name" . }}
- --service-namespace={{ .Release.Namespace }}
- --service-port={{ .Values.service.port }}
- --owner-cluster-role={{ include "annex.clusterName" . }}
{{- if not .Values.registerDefinitions }}
- --register-definitions=false
{{- end }}
{{- with .Values.allowClusterGroups }}
- --allow-cluster-groups={{ join "," . }}
{{- end }}
{{- if not .Values.admission.fromCluster }}
- --admission-from-cluster=false
{{- end }}
{{- with .Values.featureGates }}
- --feature-gates={{ . }}
{{- end }}
- --bind-address=0.0.0.0
- --secure-port={{ .Values.securePort }}
- --data-dir=/var/lib/annex
- --shutdown-delay-duration=5s
- --storage-backend={{ .Values.storage.backend }}
{{- if eq .Values.storage.backend "mongodb" }}
- --mongodb-uri-file=/etc/annex/mongodb/{{ .Values.storage.mongodb.uriSecret.key }}
- --mongodb-database={{ .Values.storage.mongodb.database }}
{{- with .Values.storage.mongodb.formerCluster }}
- --mongodb-former-cluster={{ . }}
{{- end }}
{{- with .Values.storage.mongodb.continueAbove }}
- --mongodb-continue-above={{ . | int64 }}
{{- end }}
{{- with .Values.storage.mongodb.cache }}
{{- if .enabled }}
- --cache-dir=/var/cache/annex/objects
{{- /* The kubelet evicts a pod whose volume exceeds its limit. */}}
- --cache-dir-limit={{ mul (sub .sizeMiB 128) 1048576 }}
{{- end }}
{{- end }}
{{- end }}
{{- if ne .Values.certificates.mode "self" }}
- --tls-cert-file=/etc/annex/tls/tls.crt
- --tls-private-key-file=/etc/annex/tls/tls.key
- --service-ca-file=/etc/annex/tls/ca.crt
{{- end }}
{{- if .Values.audit.policy }}
- --audit-policy-file=/etc/annex/config/audit-policy.yaml
- --audit-log-path={{ .Values.audit.logPath }}
{{- end }}
{{- if .Values.encryption.secretName }}
- --encryption-provider-config=/etc/annex/encryption/{{ .Values.encryption.key }}
- --encryption-provider-config-automatic-reload
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "annex.env" -}}
- name: NODE_OPTIONS
  value: --max-old-space-size={{ .Values.maxOldSpaceMiB }} --max-semi-space-size=16
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Mounts of the files that the flags name. Only the server mounts the volumes of the store. */}}
{{- define "annex.configMounts" -}}
{{- if eq .Values.storage.backend "mongodb" }}
- {name: mongodb, mountPath: /etc/annex/mongodb, readOnly: true}
{{- end }}
{{- if ne .Values.certificates.mode "self" }}
- {name: tls, mountPath: /etc/annex/tls, readOnly: true}
{{- end }}
{{- if .Values.audit.policy }}
- {name: config, mountPath: /etc/annex/config, readOnly: true}
{{- end }}
{{- if .Values.encryption.secretName }}
- {name: encryption, mountPath: /etc/annex/encryption, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "annex.configVolumes" -}}
{{- if eq .Values.storage.backend "mongodb" }}
- name: mongodb
  secret: {secretName: {{ .Values.storage.mongodb.uriSecret.name }}}
{{- end }}
{{- if ne .Values.certificates.mode "self" }}
- name: tls
  secret: {secretName: {{ .Values.certificates.secretName }}}
{{- end }}
{{- if .Values.audit.policy }}
- name: config
  configMap: {name: {{ include "annex.name" . }}}
{{- end }}
{{- if .Values.encryption.secretName }}
- name: encryption
  secret: {secretName: {{ .Values.encryption.secretName }}}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Scheduling, DNS and security context of all pods: the server, tests and hooks. */}}
{{- define "annex.placement" -}}
{{- with .Values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "annex.check" -}}
{{- if eq .Values.storage.backend "embedded" -}}
{{- if or (gt (int .Values.replicas) 1) .Values.autoscaling.enabled -}}
{{- fail "storage.backend=embedded supports only one replica: set replicas=1 and autoscaling.enabled=false, or use mongodb" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.backup.enabled (eq .Values.storage.backend "embedded") -}}
{{- fail "backup.enabled requires storage.backend=mongodb: the embedded store can be read only in the container of its server, with kubectl exec (docs/backup.md)" -}}
{{- end -}}
{{- if and .Values.podDisruptionBudget.minAvailable .Values.podDisruptionBudget.maxUnavailable -}}
{{- fail "podDisruptionBudget takes minAvailable or maxUnavailable, not both: set the other to null" -}}
{{- end -}}
{{- end -}}

{{/* The name of the CronJob, which has at most 52 characters, and of its volume. */}}
{{- define "annex.backup" -}}
{{- $name := include "annex.name" . -}}
{{- $short := printf "%s-%s" ($name | trunc 36 | trimSuffix "-") ($name | sha256sum | trunc 8) -}}
{{- printf "%s-backup" (ternary $name $short (le (len $name) 45)) -}}
{{- end -}}

{{/* The names of the objects that an Adoption of each group creates in the cluster. */}}
{{- define "annex.adoptionNames" -}}
{{- $names := list }}
{{- range . }}{{- $names = append $names (printf "annex-adoption.%s" .) }}{{- end }}
{{- toJson $names }}
{{- end }}
