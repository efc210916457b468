{{- define "sourcier.name" -}}
{{- if contains "sourcier" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-sourcier" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end -}}
{{- end -}}

{{- define "sourcier.selector" -}}
app.kubernetes.io/name: sourcier
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end -}}

{{- define "sourcier.labels" -}}
{{ include "sourcier.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: sourcier
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "sourcier.image" -}}
{{- with .root.Values.image.registry }}{{ . }}/{{ end }}sourcier-{{ .image }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end -}}

{{- /* The token of an embedding space in the names of figures: chassis/queue/subjects.py, space_token. */ -}}
{{- define "sourcier.spaceToken" -}}
{{ sha256sum . | trunc 12 }}
{{- end -}}

{{- /* The stream of a hop: chassis/queue/subjects.py, stream_name. */ -}}
{{- define "sourcier.stream" -}}
{{ printf "%s%s" (.root.Values.settings.SOURCIER_SUBJECT_PREFIX | default "sourcier.v1." | replace "." "_") .hop | upper }}
{{- end -}}

{{- /* What each workload is: the one table that Deployments, Services, policies and scalers are made of. */ -}}
{{- define "sourcier.components" -}}
{{- $root := . -}}
gateway:
  image: gateway
  service: gateway
  values: gateway
  calls: [ingest-accept, embed, rerank, generate]
  uses: [postgres, nats{{ if .Values.access.issuer }}, issuer{{ end }}]
  secrets: [SOURCIER_POSTGRES_URL, SOURCIER_NATS_URL, SOURCIER_INTERNAL_TOKEN, SOURCIER_GATEWAY_PROMPT_SECRET, SOURCIER_GATEWAY_WEBHOOK_TOKEN]
  public: true
  {{- if .Values.secrets.keys.SOURCIER_GATEWAY_WEBHOOK_TOKEN }}
  http: 8080
  {{- end }}
web:
  image: web
  service: web
  values: web
  calls: [gateway]
  uses: [{{ if .Values.access.issuer }}issuer{{ end }}]
  secrets: [SOURCIER_WEB_SESSION_SECRET, SOURCIER_WEB_OIDC_CLIENT_SECRET]
  public: true
  http: 8080
{{- /* A Deployment of ingest: its stages, and the hops whose durables it works on. */}}
{{- $parse := list (dict "stage" "parse" "stream" "RECEIVED") }}
{{- $ocr := list (dict "stage" "ocr" "stream" "SCANNED") }}
{{- $speech := list (dict "stage" "speech" "stream" "RECORDED") }}
{{- $index := list (dict "stage" "chunk" "stream" "PARSED") (dict "stage" "index" "stream" "EMBEDDED") }}
{{- $enrich := list (dict "stage" "enrich" "stream" "ENRICH") }}
{{- range $made := list (list "accept" "accept,collect" list) (list "parse" "parse" $parse) (list "ocr" "ocr" $ocr) (list "speech" "speech" $speech) (list "index" "chunk,index" $index) (list "enrich" "enrich" $enrich) }}
{{- $name := printf "ingest-%s" (index $made 0) }}
{{- $stages := index $made 1 }}
{{- $hops := index $made 2 }}
{{ $name }}:
  image: {{ if has $stages (list "ocr" "speech") }}{{ $stages }}{{ else }}ingest{{ end }}
  service: ingest
  values: {{ $name }}
  stages: {{ $stages | quote }}
  calls: {{ if eq $stages "enrich" }}[embed, generate]{{ else }}[]{{ end }}
  uses: [postgres, nats, s3]
  secrets: [SOURCIER_POSTGRES_URL, SOURCIER_NATS_URL, SOURCIER_INTERNAL_TOKEN, SOURCIER_S3_ACCESS_KEY, SOURCIER_S3_SECRET_KEY, SOURCIER_INGEST_SOURCE_S3_ACCESS_KEY, SOURCIER_INGEST_SOURCE_S3_SECRET_KEY]
  models: {{ range $index, $model := $root.Values.models.embed }}{{ if $index }} {{ end }}{{ $model.name }}{{ end }}{{ if eq $stages "speech" }} {{ $root.Values.models.speech }}{{ end }}
  hops: {{ $hops | toJson }}
{{- end }}
{{- range $index, $model := .Values.models.embed }}
embed{{ if $index }}-{{ add1 $index }}{{ end }}:
  image: embed
  service: embed
  values: embed
  calls: []
  uses: [nats]
  secrets: [SOURCIER_NATS_URL, SOURCIER_INTERNAL_TOKEN]
  models: {{ $model.name }}
  model: {{ $model.name }}
  space: {{ $model.space }}
{{- end }}
rerank:
  image: rerank
  service: rerank
  values: rerank
  calls: []
  uses: []
  secrets: [SOURCIER_INTERNAL_TOKEN]
  models: {{ printf "%s %s" .Values.models.rerank .Values.models.entailment | trim | quote }}
generate:
  image: {{ .Values.workloads.generate.image }}
  service: generate
  values: generate
  calls: []
  uses: [{{ if eq .Values.workloads.generate.image "generate" }}endpoint{{ end }}]
  secrets: [SOURCIER_INTERNAL_TOKEN, SOURCIER_GENERATE_OPENAI_KEY, SOURCIER_GENERATE_OPENAI_HEADERS]
  models: {{ if eq .Values.workloads.generate.image "generate" }}""{{ else }}{{ .Values.models.generate | quote }}{{ end }}
{{- end -}}

{{- /* The names of the components that are there, as a list in JSON; an embed service beside the first is one, too. */ -}}
{{- define "sourcier.enabled" -}}
{{- $names := list -}}
{{- range $name, $component := include "sourcier.components" . | fromYaml -}}
{{- if (get $.Values.workloads $component.values).enabled -}}{{- $names = append $names $name -}}{{- end -}}
{{- end -}}
{{- $names | toJson -}}
{{- end -}}

{{- /* The addresses under which components find one another. A headless Service: gRPC spreads calls over its pods. */ -}}
{{- define "sourcier.urls" -}}
{{- $base := include "sourcier.name" . -}}
SOURCIER_GATEWAY_URL: {{ $base }}-gateway:50051
SOURCIER_INGEST_URL: {{ $base }}-ingest-accept:50051
SOURCIER_EMBED_URL: {{ range $index, $model := .Values.models.embed }}{{ if $index }},{{ end }}{{ $base }}-embed{{ if $index }}-{{ add1 $index }}{{ end }}:50051{{ end }}
SOURCIER_RERANK_URL: {{ $base }}-rerank:50051
SOURCIER_GENERATE_URL: {{ $base }}-generate:50051
{{- end -}}

{{- /* Whether a component speaks TLS with the others: each but the web service, which stands before the gateway. */ -}}
{{- define "sourcier.speaksTls" -}}
{{- if and .root.Values.internalTls.enabled (ne .component.service "web") }}true{{ end -}}
{{- end -}}

{{- /* The name in a component's certificate by which others know it, which no other release of the cluster has. */ -}}
{{- define "sourcier.peerName" -}}
{{ include "sourcier.name" .root }}-{{ .name }}.{{ .root.Release.Namespace }}.svc
{{- end -}}

{{- /* Who may call a component, as names in certificates: those that call it or its kind; where nobody does, itself. */ -}}
{{- define "sourcier.peers" -}}
{{- $components := include "sourcier.components" .root | fromYaml -}}
{{- $peers := list -}}
{{- range $other := include "sourcier.enabled" .root | fromJsonArray -}}
{{- $calls := (get $components $other).calls -}}
{{- if or (has $.name $calls) (has $.component.values $calls) -}}
{{- $peers = append $peers (include "sourcier.peerName" (dict "root" $.root "name" $other)) -}}
{{- end -}}
{{- end -}}
{{- if not $peers -}}{{- $peers = append $peers (include "sourcier.peerName" .) -}}{{- end -}}
{{- join "," $peers -}}
{{- end -}}

{{- define "sourcier.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- /* Secrets of a component that the Secret holds: a variable and a file for each. */ -}}
{{- define "sourcier.secretNames" -}}
{{- $names := list -}}
{{- range concat .component.secrets (list "SOURCIER_METRICS_TOKEN" "SOURCIER_TRACES_HEADERS") -}}
{{- if get $.root.Values.secrets.keys . -}}{{- $names = append $names . -}}{{- end -}}
{{- end -}}
{{- $names | toJson -}}
{{- end -}}

{{- /* Settings of all services; each Deployment carries their hash, so that a change rolls it. */ -}}
{{- define "sourcier.config" -}}
{{- $data := include "sourcier.urls" . | fromYaml -}}
{{- $_ := set $data "SOURCIER_START_WAIT_SECONDS" (toString .Values.startWaitSeconds) -}}
{{- $_ := set $data "SOURCIER_MIGRATION_WAIT_SECONDS" "900" -}}
{{- $_ := set $data "SOURCIER_EMBED_MODEL" (first .Values.models.embed).name -}}
{{- $further := list -}}
{{- range rest .Values.models.embed -}}{{- $further = append $further .name -}}{{- end -}}
{{- $_ := set $data "SOURCIER_EMBED_MODELS" (join "," $further) -}}
{{- $_ := set $data "SOURCIER_MODELS_DIR" "/models" -}}
{{- $_ := set $data "SOURCIER_INGEST_MIGRATE" (ternary "false" "true" .Values.migrate.enabled) -}}
{{- $_ := set $data "SOURCIER_GENERATE_MODEL" .Values.models.generate -}}
{{- with .Values.models.rerank }}{{- $_ := set $data "SOURCIER_RERANK_MODEL" . -}}{{- end -}}
{{- with .Values.models.entailment }}{{- $_ := set $data "SOURCIER_RERANK_ENTAILMENT_MODEL" . -}}{{- end -}}
{{- $_ := set $data "SOURCIER_INGEST_OCR" (toString (get .Values.workloads "ingest-ocr").enabled) -}}
{{- $_ := set $data "SOURCIER_INGEST_SPEECH" (toString (get .Values.workloads "ingest-speech").enabled) -}}
{{- with .Values.models.speech }}{{- $_ := set $data "SOURCIER_INGEST_SPEECH_MODEL" . -}}{{- end -}}
{{- with .Values.traces.url }}
{{- $_ := set $data "SOURCIER_TRACES_URL" . -}}
{{- $_ := set $data "SOURCIER_TRACES_RATIO" (toString $.Values.traces.ratio) -}}
{{- end -}}
{{- with .Values.access.issuer }}{{- $_ := set $data "SOURCIER_GATEWAY_OIDC_ISSUER" . -}}{{- end -}}
{{- with .Values.access.audience }}{{- $_ := set $data "SOURCIER_GATEWAY_OIDC_AUDIENCE" . -}}{{- end -}}
{{- with .Values.access.clientId }}{{- $_ := set $data "SOURCIER_GATEWAY_OIDC_CLIENT_ID" . -}}{{- end -}}
{{- $hosts := list (printf "%s-web" (include "sourcier.name" .)) (printf "%s-web.%s" (include "sourcier.name" .) .Release.Namespace) -}}
{{- with .Values.publicUrl -}}
{{- $_ := set $data "SOURCIER_WEB_PUBLIC_URL" . -}}
{{- $hosts = append $hosts (splitList ":" (urlParse .).host | first) -}}
{{- end -}}
{{- $_ := set $data "SOURCIER_WEB_HOSTS" (join "," $hosts) -}}
{{- range $name, $value := .Values.settings }}{{- $_ := set $data $name (toString $value) -}}{{- end -}}
{{- range $name, $value := $data }}
{{ $name }}: {{ $value | quote }}
{{- end -}}
{{- end -}}
