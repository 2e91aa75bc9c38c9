#!/usr/bin/env python3
"""Records what a kube-apiserver answers to sequences of writes, as fixtures for the field manager's tests.

    record.py SERVER TOKEN CA_FILE > sequences.json

Names of sequences may follow, to record only these. Needs only the standard library. The namespace and the definition that the
sequences use are removed afterwards.
"""
import json
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

SERVER, TOKEN, CA = sys.argv[1:4]
ONLY = set(sys.argv[4:])
CONTEXT = ssl.create_default_context(cafile=CA)
GROUP = "fixtures.example.com"
TYPES = {"apply": "application/apply-patch+yaml", "merge": "application/merge-patch+json", "json": "application/json-patch+json"}


def call(method, path, body=None, content_type="application/json", user_agent="recorder/1.0"):
    request = urllib.request.Request(SERVER + path, method=method, data=None if body is None else json.dumps(body).encode())
    request.add_header("Authorization", "Bearer " + TOKEN)
    request.add_header("Content-Type", content_type)
    request.add_header("User-Agent", user_agent)
    try:
        with urllib.request.urlopen(request, context=CONTEXT) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def string(**more):
    return dict(type="string", **more)


def struct(**properties):
    return {"type": "object", "properties": properties}


def keyed(keys, **properties):
    return {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": struct(**properties) | {"required": [keys[0]]}}


SPEC = struct(
    replicas={"type": "integer"}, text=string(), flag={"type": "boolean"}, when=string(format="date-time"),
    preset={"type": "integer", "default": 7}, either={"x-kubernetes-int-or-string": True},
    any={"x-kubernetes-preserve-unknown-fields": True}, free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    part=struct(x=string(), y=string()), whole=struct(x=string(), y=string()) | {"x-kubernetes-map-type": "atomic"},
    map={"type": "object", "additionalProperties": string()},
    maps={"type": "object", "additionalProperties": struct(x=string(), y=string())},
    list={"type": "array", "items": string()},
    set={"type": "array", "x-kubernetes-list-type": "set", "items": string()},
    numbers={"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer", "format": "int64"}},
    ports=keyed(["port", "protocol"], port={"type": "integer"}, protocol=string(default="TCP"), name=string(),
                tags={"type": "array", "x-kubernetes-list-type": "set", "items": string()}),
    groups=keyed(["id"], id=string(), members=keyed(["name"], name=string(), role=string())),
    embedded={"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
    nested={"type": "array", "items": {"type": "array", "items": string()}},
)
STATUS = struct(phase=string(), replicas={"type": "integer"}, conditions=keyed(["type"], type=string(), status=string()))
SCHEMA = struct(spec=SPEC, status=STATUS)
LOOSE = struct(spec=SPEC, status=STATUS) | {"x-kubernetes-preserve-unknown-fields": True}


def definition():
    def version(name, storage, schema):
        return {"name": name, "served": True, "storage": storage, "subresources": {"status": {}, "scale": {
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "probes." + GROUP},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": {"kind": "Probe", "listKind": "ProbeList", "plural": "probes", "singular": "probe"},
                 "versions": [version("v1", True, SCHEMA), version("v2", False, {"type": "object", "x-kubernetes-preserve-unknown-fields": True})]},
    }


def probe(spec=None, version="v1", **more):
    out = {"apiVersion": GROUP + "/" + version, "kind": "Probe", "metadata": {"name": "a"}}
    if spec is not None:
        out["spec"] = spec
    meta = more.pop("metadata", {})
    out["metadata"].update(meta)
    return out | more


def create(body, manager="creator", **more):
    return dict(op="create", manager=manager, body=body, **more)


def apply(manager, body, **more):
    return dict(op="apply", manager=manager, body=body, **more)


def merge(manager, body, **more):
    return dict(op="merge", manager=manager, body=body, **more)


def annotated(configuration):
    text = json.dumps(configuration, separators=(",", ":")) + "\n"
    return {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": text}}


FULL = {"replicas": 1, "text": "t", "flag": False, "when": "2020-01-01T00:00:00Z", "either": "50%", "any": {"a": [1]}, "free": {"a": {"b": 1}, "c": {}},
        "part": {"x": "1"}, "whole": {"x": "1"}, "map": {"k": "v", "a<b": "x"}, "maps": {"m": {"x": "1"}, "n": {}}, "list": ["a", "b"], "set": ["b", "a", "c<d"],
        "numbers": [10, 9, 100], "ports": [{"port": 443, "name": "https", "tags": ["x"]}, {"port": 80, "protocol": "UDP"}],
        "groups": [{"id": "g", "members": [{"name": "m", "role": "r"}]}], "embedded": {"apiVersion": "v1", "kind": "X", "metadata": {"labels": {"l": "x"}}, "spec": {"a": 1}},
        "nested": [["a"], []]}
LAST = probe({"text": "one", "part": {"x": "1"}}, metadata={"labels": {"l": "x"}})

SEQUENCES = {
    "create with everything": [create(probe(FULL, metadata={"labels": {"l": "x"}, "finalizers": ["example.com/f"], "annotations": {"a": "b"}}))],
    "apply with everything": [apply("one", probe(FULL, metadata={"labels": {"l": "x"}, "finalizers": ["example.com/f"], "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u-1"}]})), apply("one", probe(FULL))],
    "create by another version": [create(probe(FULL, version="v2"), version="v2"), apply("one", probe({"text": "x"}), force=True), merge("ed", {"spec": {"map": {"z": "1"}}}, version="v2"), apply("one", probe({"part": {"y": "2"}}))],
    "updates": [create(probe({"text": "a", "part": {"x": "1"}})), merge("ed", {"spec": {"text": "b"}}), merge("ed", {"spec": {"text": "b"}}), merge("ed", {"spec": {"part": None, "list": ["x"]}}), merge("creator", {"spec": {"text": "c"}}), merge("ed", {"spec": None})],
    "shared and given up": [apply("one", probe({"text": "a", "part": {"x": "1", "y": "2"}})), apply("two", probe({"text": "a"})), apply("one", probe({"part": {"x": "1"}})), apply("two", probe({})), apply("two", probe())],
    "conflicts and force": [apply("one", probe({"text": "a", "ports": [{"port": 80, "name": "n"}, {"port": 8000000, "name": "m"}], "set": ["a"], "list": ["x"]})), merge("ed", {"spec": {"flag": True}}, subresource=""), merge("st", {"status": {"phase": "p"}}, subresource="status"),
                            apply("two", probe({"text": "b"})), apply("two", probe({"text": "b", "ports": [{"port": 80, "name": "o"}, {"port": 8000000, "name": "o"}], "set": ["a", "b"], "list": ["y"]})), apply("two", probe({"text": "b", "ports": [{"port": 80, "name": "o"}], "list": ["y"]}), force=True), apply("one", probe({"text": "a"})), apply("two", probe({"flag": False}))],
    "status": [create(probe({"text": "a"}, status={"phase": "ignored"})), apply("c", probe(None, status={"phase": "x", "conditions": [{"type": "Ready", "status": "True"}]}), subresource="status"), merge("d", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, subresource="status"),
               apply("c", probe({"text": "ignored"}, status={"phase": "y"}), subresource="status"), apply("c", probe(None, status={"phase": "y", "conditions": [{"type": "Ready", "status": "True"}]}), subresource="status"), apply("e", probe(None, status={"phase": "main"}))],
    "items": [apply("one", probe({"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "b"}, {"port": 3, "name": "c"}], "set": ["a", "b", "c"]})), apply("two", probe({"ports": [{"port": 9, "name": "z"}, {"port": 2, "name": "b"}], "set": ["z", "b"]})), apply("one", probe({"ports": [{"port": 3, "name": "c"}, {"port": 1, "name": "a"}], "set": ["c"]})),
              merge("ed", {"spec": {"ports": [{"port": 3, "name": "changed", "protocol": "TCP"}, {"port": 5, "protocol": "TCP"}]}}), apply("one", probe({"set": []})), apply("two", probe({"ports": None}))],
    "nested items": [apply("one", probe({"groups": [{"id": "g", "members": [{"name": "m", "role": "r"}, {"name": "n"}]}]})), apply("two", probe({"groups": [{"id": "g", "members": [{"name": "o"}]}, {"id": "h"}]})), apply("one", probe({"groups": [{"id": "g", "members": [{"name": "n"}]}]})), apply("one", probe({"groups": [{"id": "g"}]})), apply("one", probe({}))],
    "maps": [apply("one", probe({"map": {"a": "1", "b": "2"}, "maps": {"m": {"x": "1"}}, "free": {"a": {"b": 1}}, "whole": {"x": "1"}})), apply("two", probe({"map": {"c": "3"}, "maps": {"m": {"y": "2"}}, "free": {"a": {"c": 2}}})), apply("one", probe({"map": {"a": "1"}})), apply("two", probe({"whole": {"y": "2"}})), apply("two", probe({"whole": {"y": "2"}, "free": {"a": 5}}), force=True)],
    "duplicates": [create(probe({"list": ["a"], "any": {"a": 1}})), merge("ed", {"spec": {"any": "scalar"}}), merge("ed", {"spec": {"any": {"x": {"y": 1}}}}), merge("ed", {"spec": {"any": [1]}}), apply("one", probe({"any": {"z": 1}}), force=True)],
    "reset": [apply("one", probe({"text": "a"})), merge("ed", {"metadata": {"managedFields": []}, "spec": {"flag": True}}), merge("ed", {"metadata": {"managedFields": [{}]}}), merge("ed", {"spec": {"flag": False}}), apply("two", probe({"text": "a"})), apply("three", probe({"text": "b"}))],
    "edited entries": [apply("one", probe({"text": "a", "part": {"x": "1"}})), merge("ed", {"metadata": {"managedFields": [{"manager": "hand", "operation": "Update", "apiVersion": GROUP + "/v1", "time": "2020-01-01T02:00:00+02:00", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:text": {}, "f:part": {".": {}, "f:x": {}}, "q:unknown": {}, "f:ports": {"k:{\"protocol\":\"TCP\",\"port\":80}": {}}}}}]}}),
                       merge("ed", {"spec": {"text": "b"}}), merge("ed", {"metadata": {"managedFields": [{"manager": "bad", "operation": "Nope", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]}, "spec": {"text": "c"}}), merge("ed", {"metadata": {"managedFields": [{"manager": "other", "operation": "Apply", "apiVersion": GROUP + "/v9", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:text": {}}}}]}, "spec": {"text": "d"}}), apply("one", probe({"text": "e"}))],
    "ten managers": [create(probe({"map": {"k": "0"}}))] + [merge("m%02d" % i, {"spec": {"map": {"k%d" % i: "x"}}}) for i in range(13)],
    "client-side apply taken over": [create(LAST | {"metadata": LAST["metadata"] | annotated(LAST)}, manager="kubectl-client-side-apply"), apply("kubectl", probe({"text": "two", "part": {"x": "1"}}, metadata={"labels": {"l": "x"}})), merge("ed", {"spec": {"part": {"x": "changed"}}}), apply("kubectl", probe({"text": "three", "part": {"x": "2"}})), apply("other", probe({"text": "four"}))],
    "null and empty": [apply("one", probe({"map": {}, "list": [], "ports": [], "part": {}, "set": None, "free": {}, "embedded": None})), apply("two", probe({"map": {"a": "b"}, "ports": [{"port": 1}]})), apply("one", probe({"map": {}})), apply("one", probe({"part": None}))],
    "wrong patches": [apply("one", probe({"text": "a"})), apply("one", probe({"nope": 1})), apply("one", probe({"text": 1000000})), apply("one", probe({"part": [1.5, "x", {"b": None, "a": True}]})), apply("one", probe({"set": ["a", "a"]})), apply("one", probe({"ports": [{"port": 80}, {"port": 80, "protocol": "TCP", "name": 5}]})),
                      apply("one", probe({"flag": {"a": [1, 2]}, "list": "x"})), apply("one", probe({"ports": [{"name": "x"}]})), apply("one", probe(None, metadata={"managedFields": []})), apply("one", probe(None, version="v2")), apply("one", {"metadata": {"name": "a"}}), apply("one", probe({"when": {"a": 1}})), apply("one", probe({"numbers": [1, 1]}))],
}
CORE = {
    "configmap": ("v1", "ConfigMap", "configmaps", {"data": {"a": "b"}, "binaryData": {"c": "ZA=="}}),
    "secret": ("v1", "Secret", "secrets", {"type": "Opaque", "stringData": {"a": "b"}, "data": {"c": "ZA=="}}),
    "serviceaccount": ("v1", "ServiceAccount", "serviceaccounts", {"secrets": [{"name": "x"}], "imagePullSecrets": [{"name": "y"}], "automountServiceAccountToken": False}),
    "service": ("v1", "Service", "services", {"spec": {"selector": {"app": "x"}, "ports": [{"port": 80, "name": "a"}, {"port": 53, "protocol": "UDP", "name": "b"}]}}),
    "endpoints": ("v1", "Endpoints", "endpoints", {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]}),
    "pod": ("v1", "Pod", "pods", {"spec": {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i", "env": [{"name": "E", "value": "v"}], "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}}}], "tolerations": [{"key": "k", "operator": "Exists"}]}}),
    "persistentvolumeclaim": ("v1", "PersistentVolumeClaim", "persistentvolumeclaims", {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
    "event": ("v1", "Event", "events", {"involvedObject": {"kind": "Pod", "name": "x", "namespace": "NAMESPACE"}, "reason": "R", "message": "m", "type": "Normal", "source": {"component": "c"}}),
    "lease": ("coordination.k8s.io/v1", "Lease", "leases", {"spec": {"holderIdentity": "h", "leaseDurationSeconds": 5}}),
    "role": ("rbac.authorization.k8s.io/v1", "Role", "roles", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
    "rolebinding": ("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}]}),
    "namespace": ("v1", "Namespace", "", {"metadata": {"labels": {"l": "x"}}, "spec": {"finalizers": ["kubernetes"]}}),
    "node": ("v1", "Node", "", {"spec": {"podCIDR": "10.0.0.0/24", "taints": [{"key": "k", "effect": "NoSchedule"}]}}),
    "persistentvolume": ("v1", "PersistentVolume", "", {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}}),
    "clusterrole": ("rbac.authorization.k8s.io/v1", "ClusterRole", "", {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}, "rules": []}),
    "clusterrolebinding": ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}, "subjects": [{"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"}]}),
    "validatingadmissionpolicy": ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", {"spec": {"matchConstraints": {"resourceRules": [{"apiGroups": ["x.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["xs"]}]}, "validations": [{"expression": "true"}]}}),
    "validatingadmissionpolicybinding": ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", "", {"spec": {"policyName": "nope", "validationActions": ["Audit"]}}),
    "validatingwebhookconfiguration": ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", {"webhooks": [{"name": "w.example.com", "clientConfig": {"url": "https://127.0.0.1:1/"}, "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore", "rules": [{"apiGroups": ["x.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["xs"]}]}]}),
    "customresourcedefinition": ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", {"spec": {"group": "other." + GROUP, "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"}, "versions": [{"name": "v1", "served": False, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}),
}


def core_sequence(kind):
    api_version, name, plural, content = CORE[kind]
    body = json.loads(json.dumps({"apiVersion": api_version, "kind": name, "metadata": {"name": "a"}} | {k: v for k, v in content.items() if k != "metadata"}))
    body["metadata"].update(content.get("metadata", {}))
    path = {"": "/" + {"customresourcedefinition": "customresourcedefinitions", "validatingadmissionpolicy": "validatingadmissionpolicies"}.get(kind, kind + "s")}
    cluster = plural == ""
    base = ("/api/" if "/" not in api_version else "/apis/") + api_version
    return cluster, base + ("" if cluster else "/namespaces/NAMESPACE") + (path[""] if cluster else "/" + plural), body


def substitute(value, name, namespace):
    return json.loads(json.dumps(value).replace("NAMESPACE", namespace).replace('"name": "a"', '"name": "%s"' % name))


def run(base, steps, name, namespace):
    base = base.replace("NAMESPACE", namespace)
    live, out = None, []
    for step in steps:
        step = substitute(step, name, namespace)
        path = base.replace("/v1/", "/%s/" % step.get("version", "v1")) if "version" in step else base
        query = "?" + urllib.parse.urlencode({"fieldManager": step["manager"]} | ({"force": "true"} if step.get("force") else {}))
        target = path + "/" + name + ("/" + step["subresource"] if step.get("subresource") else "")
        if step["op"] == "create":
            status, answer = call("POST", path + query, step["body"])
        else:
            status, answer = call("PATCH", target + query, step["body"], TYPES[step["op"]])
        out.append(step | {"status": status, "live": live, "answer": answer})
        # The live object as the next step's version shows it, with what controllers did meanwhile.
        time.sleep(1.02)
        following = steps[len(out)] if len(out) < len(steps) else {}
        found, shown = call("GET", base.replace("/v1/", "/%s/" % following.get("version", "v1")) + "/" + name)
        live = shown if found == 200 else None
    return out


def remove(path):
    """Removes an object, finalizers or not: no controllers run beside the server."""
    call("DELETE", path)
    call("PATCH", path, {"metadata": {"finalizers": None}}, TYPES["merge"])
    if "/namespaces/" in path and path.startswith("/api/v1/namespaces/") and path.count("/") == 4:
        name = path.rsplit("/", 1)[1]
        call("PUT", path + "/finalize", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": []}})


def main():
    namespace = "mf-fixtures-%d" % (time.time() % 100000)
    call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    call("POST", "/api/v1/namespaces/%s/serviceaccounts" % namespace, {"metadata": {"name": "default"}})
    call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    time.sleep(4)
    result = {"definition": definition(), "sequences": {}}
    base = "/apis/%s/v1/namespaces/%s/probes" % (GROUP, namespace)
    for i, (title, steps) in enumerate(SEQUENCES.items()):
        if not ONLY or title in ONLY:
            result["sequences"][title] = run(base, steps, "a%d" % i, namespace)
            remove(base + "/a%d" % i)
    for kind in CORE:
        if ONLY and kind not in ONLY:
            continue
        cluster, path, body = core_sequence(kind)
        name = namespace + "-a" if kind != "customresourcedefinition" else "things.other." + GROUP
        steps = [create(body), apply("one", {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": {"name": "a", "labels": {"new": "x"}}}), merge("ed", {"metadata": {"labels": {"new": "y"}}}), apply("one", body, force=True)]
        result["sequences"][kind] = run(path, steps, name, namespace)
        remove(path.replace("NAMESPACE", namespace) + "/" + name)
    remove("/api/v1/namespaces/" + namespace)
    remove("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/probes." + GROUP)
    json.dump(result, sys.stdout, separators=(",", ":"))
    print()


main()
