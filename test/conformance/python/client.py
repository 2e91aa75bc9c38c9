"""The official Python client against the server of a kubeconfig. Prints `ok NAME` for each part that holds; the first that does not ends it.

    client.py KUBECONFIG
"""
import json
import sys
import time

from kubernetes import client, config, dynamic, watch
from kubernetes.client.rest import ApiException

config.load_kube_config(sys.argv[1])
GROUP = 'python.example.com'
NAMESPACE = 'python'
PLACE = (GROUP, 'v1', NAMESPACE, 'gears')
custom = client.CustomObjectsApi()


def gear(name, teeth):
    return {'apiVersion': f'{GROUP}/v1', 'kind': 'Gear', 'metadata': {'name': name}, 'spec': {'teeth': teeth}}


def failure(call, *arguments, **named):
    """The code and the Status of a call that must fail."""
    try:
        call(*arguments, **named)
    except ApiException as error:
        return error.status, json.loads(error.body)
    raise AssertionError(f'{call.__name__} succeeds')


def definitions():
    client.CoreV1Api().create_namespace({'metadata': {'name': NAMESPACE}})
    schema = {'type': 'object', 'properties': {'spec': {'type': 'object', 'properties': {
        'teeth': {'type': 'integer', 'minimum': 3}, 'colour': {'type': 'string', 'default': 'grey'}}}}}
    api = client.ApiextensionsV1Api()
    api.create_custom_resource_definition({
        'metadata': {'name': f'gears.{GROUP}'},
        'spec': {'group': GROUP, 'scope': 'Namespaced', 'names': {'plural': 'gears', 'singular': 'gear', 'kind': 'Gear'},
                 'versions': [{'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': schema}}]}})
    while True:
        status = api.read_custom_resource_definition(f'gears.{GROUP}').status
        if any(c.type == 'Established' and c.status == 'True' for c in (status and status.conditions) or []):
            return
        time.sleep(0.02)


def custom_objects():
    created = custom.create_namespaced_custom_object(*PLACE, gear('wheel', 12))
    assert created['spec'] == {'teeth': 12, 'colour': 'grey'}, created
    assert custom.get_namespaced_custom_object(*PLACE, 'wheel')['metadata']['uid'] == created['metadata']['uid']
    patched = custom.patch_namespaced_custom_object(*PLACE, 'wheel', {'spec': {'teeth': 13}})
    assert patched['spec'] == {'teeth': 13, 'colour': 'grey'}, patched
    listed = custom.list_namespaced_custom_object(*PLACE)
    assert [item['spec']['teeth'] for item in listed['items']] == [13], listed
    status, body = failure(custom.create_namespaced_custom_object, *PLACE, gear('small', 1))
    assert (status, body['reason']) == (422, 'Invalid'), body
    assert body['details']['causes'][0]['field'] == 'spec.teeth', body
    assert custom.delete_namespaced_custom_object(*PLACE, 'wheel')['status'] == 'Success'
    status, body = failure(custom.get_namespaced_custom_object, *PLACE, 'wheel')
    assert (status, body['message']) == (404, f'gears.{GROUP} "wheel" not found'), body


def watches():
    version = custom.list_namespaced_custom_object(*PLACE)['metadata']['resourceVersion']
    custom.create_namespaced_custom_object(*PLACE, gear('seen', 5))
    custom.patch_namespaced_custom_object(*PLACE, 'seen', {'spec': {'teeth': 6}})
    custom.delete_namespaced_custom_object(*PLACE, 'seen')
    events = []
    stream = watch.Watch()
    for event in stream.stream(custom.list_namespaced_custom_object, *PLACE, resource_version=version, timeout_seconds=100):
        events.append((event['type'], event['object']['metadata']['name'], event['object']['spec']['teeth']))
        if event['type'] == 'DELETED':
            stream.stop()
    assert events == [('ADDED', 'seen', 5), ('MODIFIED', 'seen', 6), ('DELETED', 'seen', 6)], events


def dynamic_client():
    gears = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version=f'{GROUP}/v1', kind='Gear')
    assert gears.namespaced and gears.name == 'gears'
    assert gears.create(body=gear('made', 7), namespace=NAMESPACE).spec.colour == 'grey'
    patched = gears.patch(name='made', namespace=NAMESPACE, body={'spec': {'teeth': 8}}, content_type='application/merge-patch+json')
    assert patched.spec.teeth == 8
    assert [item.metadata.name for item in gears.get(namespace=NAMESPACE).items] == ['made']
    gears.delete(name='made', namespace=NAMESPACE)
    assert gears.get(namespace=NAMESPACE).items == []


def server_side_apply():
    gears = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version=f'{GROUP}/v1', kind='Gear')

    def apply(teeth, manager, **named):
        return gears.server_side_apply(body=gear('applied', teeth), namespace=NAMESPACE, field_manager=manager, **named)

    first = apply(5, 'one')
    assert [(entry.manager, entry.operation) for entry in first.metadata.managedFields] == [('one', 'Apply')]
    try:
        apply(6, 'two')
        raise AssertionError('the second manager meets no conflict')
    except ApiException as error:
        assert json.loads(error.body)['message'] == 'Apply failed with 1 conflict: conflict with "one": .spec.teeth', error.body
    assert apply(6, 'two', force_conflicts=True).spec.teeth == 6


def typed_core():
    core = client.CoreV1Api()
    core.create_namespaced_config_map(NAMESPACE, client.V1ConfigMap(metadata=client.V1ObjectMeta(name='settings'), data={'a': 'b'}))
    core.patch_namespaced_config_map('settings', NAMESPACE, {'data': {'c': 'd'}})
    assert core.read_namespaced_config_map('settings', NAMESPACE).data == {'a': 'b', 'c': 'd'}
    assert 'settings' in [item.metadata.name for item in core.list_namespaced_config_map(NAMESPACE).items]


for part in (definitions, custom_objects, watches, dynamic_client, server_side_apply, typed_core):
    part()
    print(f'ok {part.__name__}', flush=True)
