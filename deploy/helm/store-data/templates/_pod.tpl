{{/* What the pods of all components have in common. Each takes (list $ "query"). */}}

{{/* A component's secrets: its own replace those of all. */}}
{{- define "store-data.secrets" -}}
{{- $values := (index . 0).Values -}}
{{- $secrets := dict -}}
{{- range $given := list $values.secrets (index $values (index . 1)).secrets -}}
{{- range $name, $reference := $given }}{{ $_ := set $secrets $name $reference }}{{ end -}}
{{- end -}}
{{- toJson $secrets -}}
{{- end }}

{{/* An address may name a user; what follows a colon before its @ is a password: (list "MONGODB_URI" "mongodb://…"). */}}
{{- define "store-data.refusePassword" -}}
{{- $name := index . 0 -}}
{{- $address := regexReplaceAll "^[a-z+]+://" (index . 1) "" -}}
{{- if and (regexMatch "(_BROKERS|_URI|_URL|_ENDPOINT)$" $name) (regexMatch "^[^@]*:.*@|[?&][A-Za-z]*[Pp]assword=" $address) -}}
{{- $other := regexMatch "(MONGODB_URI|REDIS_URL)$" $name | ternary (printf "give the whole address in secrets.%s, or the password alone in secrets.%s_PASSWORD_FILE" $name (regexReplaceAll "_UR[IL]$" $name "")) "give the password in secrets" -}}
{{- fail (printf "settings.%s holds a password, which everybody who may read the Deployment would see: %s, each as { secret: …, key: … }" $name $other) -}}
{{- end -}}
{{- end }}

{{/* A component's settings, as texts: its own replace those of all, and a secret replaces either. */}}
{{- define "store-data.settings" -}}
{{- $values := (index . 0).Values -}}
{{- $settings := dict -}}
{{- range $given := list $values.settings (index $values (index . 1)).settings -}}
{{- range $name, $value := $given -}}
{{/* Numbers of a file of values are floats, and large whole ones would be written with an exponent. */}}
{{- $isWhole := and (kindIs "float64" $value) (eq $value (floor $value)) -}}
{{- include "store-data.refusePassword" (list $name (toString $value)) -}}
{{- $_ := set $settings $name (ternary (int64 $value) $value $isWhole | toString) -}}
{{- end -}}
{{- end -}}
{{- range $name, $_ := include "store-data.secrets" . | fromJson }}{{ $_ := unset $settings $name }}{{ end -}}
{{- toJson $settings -}}
{{- end }}

{{- define "store-data.env" -}}
{{- $secrets := include "store-data.secrets" . | fromJson -}}
{{- $settings := include "store-data.settings" . | fromJson -}}
{{- $part := index . 1 -}}
{{- range list "KAFKA_BROKERS" "MONGODB_URI" "REDIS_URL" -}}
{{- if not (or (index $settings .) (hasKey $secrets .)) -}}
{{- fail (printf "%s needs %s: give it in settings or in secrets" $part .) -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := $settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- range $name, $reference := $secrets }}
- name: {{ $name }}
{{- if hasSuffix "_FILE" $name }}
  value: /secrets/{{ $name }}
{{- else }}
  valueFrom:
    secretKeyRef: { name: {{ $reference.secret | quote }}, key: {{ $reference.key | quote }} }
{{- end }}
{{- end }}
{{- end }}

{{/* The files of secrets: one volume, that follows its secrets as they change. */}}
{{- define "store-data.secretFiles" -}}
{{- range $name, $reference := include "store-data.secrets" . | fromJson }}
{{- if hasSuffix "_FILE" $name }}
- secret:
    name: {{ $reference.secret | quote }}
    items: [{ key: {{ $reference.key | quote }}, path: {{ $name }} }]
{{- end }}
{{- end }}
{{- end }}

{{/* Whom the pods run as, and what they may: the Pod Security Standard "restricted". */}}
{{- define "store-data.podSpec" -}}
{{- $values := index (index . 0).Values (index . 1) -}}
automountServiceAccountToken: false
# Variables of other services could be taken for settings: a service `query` would be QUERY_PORT.
enableServiceLinks: false
# So that the process is not the first of its container, which hears no signal before it has started.
shareProcessNamespace: true
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  # The group of the files of secrets.
  fsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- with include "store-data.secretFiles" . }}
volumes:
  - name: secrets
    projected:
      # 0440
      defaultMode: 288
      sources:
        {{- trim . | nindent 8 }}
{{- end }}
{{- with $values.pod }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "store-data.container" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
name: {{ $part }}
image: {{ include "store-data.image" $root | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
env:
  {{- include "store-data.env" . | trim | nindent 2 }}
resources:
  {{- toYaml (index $root.Values $part).resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- with include "store-data.secretFiles" . }}
volumeMounts:
  - { name: secrets, mountPath: /secrets, readOnly: true }
{{- end }}
{{- end }}

{{/* Over zones and machines, if possible; each revision is spread for itself. */}}
{{- define "store-data.spread" -}}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "store-data.selector" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}

{{/* Neither fails because a server is away: see docs/deploying.md. */}}
{{- define "store-data.probes" -}}
# Live as soon as it has started; a start waits for servers, and is not given up for that.
startupProbe:
  httpGet: &live { path: /live, port: operations }
  periodSeconds: 1
  timeoutSeconds: 2
  failureThreshold: 120
# Restarted only if the process itself does not work any longer.
livenessProbe:
  httpGet: *live
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
# Unready before each server was reached once, and from the signal to end on.
readinessProbe:
  httpGet: { path: /ready, port: operations }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
{{- end }}
