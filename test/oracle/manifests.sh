#!/usr/bin/env bash
# Makes the folders of manifests below FOLDER that the scenarios with `needs: manifests` use, and prints the path of the configuration
# for --admission-control-config-file:  test/oracle/manifests.sh FOLDER
set -euo pipefail
folder=$(realpath "$1")
{
  echo 'apiVersion: apiserver.config.k8s.io/v1'
  echo 'kind: AdmissionConfiguration'
  echo 'plugins:'
  for plugin in ValidatingAdmissionPolicy MutatingAdmissionPolicy ValidatingAdmissionWebhook MutatingAdmissionWebhook; do
    mkdir -p "$folder/$plugin"
    kind=${plugin}Configuration
    [[ $plugin == *Policy ]] || kind=WebhookAdmissionConfiguration
    echo "- name: $plugin"
    echo "  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: $kind, staticManifestsDir: $folder/$plugin}"
  done
} > "$folder/admission.yaml"
echo "$folder/admission.yaml"
