{{- /* What the schema cannot say: values that do not fit one another, and how to mend them. All are told at once. */ -}}
{{- define "sourcier.checks" -}}
{{- $faults := list -}}
{{- $values := .Values -}}
{{- if or (contains "://" .Values.image.registry) (hasSuffix "/" .Values.image.registry) (hasPrefix "/" .Values.image.registry) -}}
{{- $faults = append $faults (printf "image.registry=%s: write it as registry.example.org/team, without a scheme and without a slash at its ends" .Values.image.registry) -}}
{{- end -}}
{{- if eq .Values.image.tag "latest" -}}
{{- $faults = append $faults "image.tag=latest: name a version; pods of one release have to run the same one" -}}
{{- end -}}
{{- range $label := keys .Values.labels | sortAlpha -}}
{{- if hasPrefix "app.kubernetes.io/" $label -}}
{{- $faults = append $faults (printf "labels.%s: the chart sets it; choose a prefix of your own" $label) -}}
{{- end -}}
{{- end -}}
{{- range $place, $settings := include "sourcier.settingsByPlace" . | fromYaml -}}
{{- range $name := keys $settings | sortAlpha -}}
{{- if hasKey $values.secrets.keys $name -}}
{{- $faults = append $faults (printf "%s.%s is a secret, and would stand in the clear: put its value into the Secret %s and the key in secrets.keys.%s" $place $name $values.secrets.name $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $workload := .Values.workloads -}}
{{- if and $workload.enabled (gt (int $workload.min) (int $workload.max)) -}}
{{- $faults = append $faults (printf "workloads.%s: min=%d is above max=%d" $name (int $workload.min) (int $workload.max)) -}}
{{- end -}}
{{- if and (not $workload.enabled) (has $name (list "gateway" "ingest-accept" "ingest-parse" "ingest-index" "embed")) -}}
{{- $faults = append $faults (printf "workloads.%s.enabled=false: nothing is taken in or found without it; to pause it, set autoscaling.kind=none and workloads.%s.replicas=0" $name $name) -}}
{{- end -}}
{{- end -}}
{{- $generate := .Values.workloads.generate -}}
{{- if $generate.enabled -}}
{{- if and (ne $generate.image "generate") (not .Values.models.generate) -}}
{{- $faults = append $faults (printf "models.generate is empty, and workloads.generate.image=%s runs a model: name one, or set the image to generate, for an endpoint" $generate.image) -}}
{{- end -}}
{{- $told := merge (dict) ($generate.settings | default dict) .Values.settings -}}
{{- if and (eq $generate.image "generate") (not (get $told "SOURCIER_GENERATE_OPENAI_URL")) (ne (toString (get $told "SOURCIER_GENERATE_ENGINE")) "scripted") -}}
{{- $faults = append $faults "workloads.generate.image=generate asks an endpoint: say which in settings.SOURCIER_GENERATE_OPENAI_URL, or set the image to generate-cpu or generate-gpu" -}}
{{- end -}}
{{- end -}}
{{- if and (get .Values.workloads "ingest-speech").enabled (not .Values.models.speech) (not (get .Values.settings "SOURCIER_INGEST_SPEECH_URL")) (not (get ((get .Values.workloads "ingest-speech").settings | default dict) "SOURCIER_INGEST_SPEECH_URL")) -}}
{{- $faults = append $faults "workloads.ingest-speech.enabled=true needs models.speech, or settings.SOURCIER_INGEST_SPEECH_URL for an endpoint" -}}
{{- end -}}
{{- if and .Values.monitoring.dashboards (not .Values.monitoring.dashboardLabels) -}}
{{- $faults = append $faults "monitoring.dashboards=true with no monitoring.dashboardLabels: Grafana's sidecar finds them by a label" -}}
{{- end -}}
{{- if $faults -}}
{{- fail (printf "these values do not fit:\n- %s\n" (join "\n- " $faults)) -}}
{{- end -}}
{{- end -}}

{{- define "sourcier.settingsByPlace" -}}
settings: {{ .Values.settings | toJson }}
{{- range $name, $workload := .Values.workloads }}
workloads.{{ $name }}.settings: {{ $workload.settings | default dict | toJson }}
{{- end -}}
{{- end -}}
