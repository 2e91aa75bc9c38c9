import { isLongRunning, newRequestInfo, RequestInfoError } from './request-info-factory.js';

const RESOURCE = [
  'verb',
  'apiPrefix',
  'apiGroup',
  'apiVersion',
  'namespace',
  'resource',
  'subresource',
  'name',
] as const;

describe('newRequestInfo', () => {
  // method, path and query; then verb, prefix, group, version, namespace, resource, subresource, name, parts
  test.each([
    ['GET', '/api/v1/namespaces', 'list', 'api', '', 'v1', '', 'namespaces', '', '', 'namespaces'],
    ['GET', '/api/v1/namespaces/other', 'get', 'api', '', 'v1', 'other', 'namespaces', '', 'other', 'namespaces/other'],
    ['GET', '/api/v1/namespaces/other/pods', 'list', 'api', '', 'v1', 'other', 'pods', '', '', 'pods'],
    ['GET', '/api/v1/namespaces/other/pods/foo', 'get', 'api', '', 'v1', 'other', 'pods', '', 'foo', 'pods/foo'],
    ['HEAD', '/api/v1/namespaces/other/pods/foo', 'get', 'api', '', 'v1', 'other', 'pods', '', 'foo', 'pods/foo'],
    [
      'PUT',
      '/api/v1/namespaces/x/finalize',
      'update',
      'api',
      '',
      'v1',
      'x',
      'namespaces',
      'finalize',
      'x',
      'namespaces/x/finalize',
    ],
    [
      'PUT',
      '/api/v1/namespaces/x/status',
      'update',
      'api',
      '',
      'v1',
      'x',
      'namespaces',
      'status',
      'x',
      'namespaces/x/status',
    ],
    [
      'GET',
      '/api/v1/proxy/namespaces/other/pods/foo',
      'proxy',
      'api',
      '',
      'v1',
      'other',
      'pods',
      '',
      'foo',
      'pods/foo',
    ],
    [
      'GET',
      '/api/v1/proxy/namespaces/other/pods/foo/sub',
      'proxy',
      'api',
      '',
      'v1',
      'other',
      'pods',
      '',
      'foo',
      'pods/foo/sub',
    ],
    ['GET', '/api/v1/watch/pods', 'watch', 'api', '', 'v1', '', 'pods', '', '', 'pods'],
    ['GET', '/api/v1/pods?watch=true', 'watch', 'api', '', 'v1', '', 'pods', '', '', 'pods'],
    ['GET', '/api/v1/pods?watch=false', 'list', 'api', '', 'v1', '', 'pods', '', '', 'pods'],
    ['GET', '/api/v1/pods?watch', 'watch', 'api', '', 'v1', '', 'pods', '', '', 'pods'],
    ['GET', '/api/v1/watch/namespaces/other/pods', 'watch', 'api', '', 'v1', 'other', 'pods', '', '', 'pods'],
    [
      'GET',
      '/api/v1/namespaces/other/pods/foo?watch=1',
      'get',
      'api',
      '',
      'v1',
      'other',
      'pods',
      '',
      'foo',
      'pods/foo',
    ],
    [
      'GET',
      '/api/v1/namespaces/other/pods/foo/status',
      'get',
      'api',
      '',
      'v1',
      'other',
      'pods',
      'status',
      'foo',
      'pods/foo/status',
    ],
    ['POST', '/apis/batch/v1/namespaces/other/jobs', 'create', 'apis', 'batch', 'v1', 'other', 'jobs', '', '', 'jobs'],
    [
      'PATCH',
      '/apis/batch/v1/namespaces/other/jobs/foo',
      'patch',
      'apis',
      'batch',
      'v1',
      'other',
      'jobs',
      '',
      'foo',
      'jobs/foo',
    ],
    ['DELETE', '/api/v1/nodes', 'deletecollection', 'api', '', 'v1', '', 'nodes', '', '', 'nodes'],
    ['DELETE', '/api/v1/nodes/a', 'delete', 'api', '', 'v1', '', 'nodes', '', 'a', 'nodes/a'],
    ['OPTIONS', '/api/v1/nodes/a', '', 'api', '', 'v1', '', 'nodes', '', 'a', 'nodes/a'],
    ['GET', '/api/v1/namespaces/', 'list', 'api', '', 'v1', '', 'namespaces', '', '', 'namespaces'],
    [
      'GET',
      '/api/v1/namespaces/x/pods/?fieldSelector=metadata.name%3Db',
      'list',
      'api',
      '',
      'v1',
      'x',
      'pods',
      '',
      'b',
      'pods',
    ],
    [
      'GET',
      '/api/v1/pods?fieldSelector=metadata.name==b&watch=1',
      'watch',
      'api',
      '',
      'v1',
      '',
      'pods',
      '',
      'b',
      'pods',
    ],
    ['GET', '/api/v1/pods?fieldSelector=a=b,metadata.name=c', 'list', 'api', '', 'v1', '', 'pods', '', 'c', 'pods'],
    ['GET', '/api/v1/pods?fieldSelector=metadata.name!=b', 'list', 'api', '', 'v1', '', 'pods', '', '', 'pods'],
    ['GET', '/api/v1/pods?fieldSelector=metadata.name=..', 'list', 'api', '', 'v1', '', 'pods', '', '', 'pods'],
    ['GET', '/api/v1/pods?fieldSelector=metadata.name=a/b', 'list', 'api', '', 'v1', '', 'pods', '', '', 'pods'],
    ['GET', '/api/v1/pods?fieldSelector=metadata.name=b&limit=x', 'list', 'api', '', 'v1', '', 'pods', '', '', 'pods'],
    ['GET', '/api/v1/pods?watch=1&limit=x', 'watch', 'api', '', 'v1', '', 'pods', '', '', 'pods'],
    [
      'DELETE',
      '/api/v1/pods?fieldSelector=metadata.name=b',
      'deletecollection',
      'api',
      '',
      'v1',
      '',
      'pods',
      '',
      '',
      'pods',
    ],
  ])('%s %s', (method, url, ...expected) => {
    const [path = '', query = ''] = url.split('?');
    const info = newRequestInfo(method, path, query);
    expect([...RESOURCE.map((key) => info[key]), info.parts.join('/')]).toEqual(expected);
    expect(info.isResourceRequest).toBe(true);
  });

  test.each([
    ['GET', '/'],
    ['GET', ''],
    ['GET', '//'],
    ['GET', '/api'],
    ['GET', '/api/v1'],
    ['GET', '/apis/apps/v1'],
    ['GET', '/apis/apps'],
    ['POST', '/healthz'],
    ['GET', '/apiserver/v1/pods'],
    ['GET', '/other/api/v1/pods'],
  ])('%s %s is not a resource request', (method, path) => {
    const info = newRequestInfo(method, path, '');
    expect(info).toMatchObject({ isResourceRequest: false, verb: method.toLowerCase(), path, resource: '' });
  });

  test.each(['/api/v1/watch', '/api/v1/proxy', '/apis/apps/v1/watch'])('refuses %s', (path) => {
    expect(() => newRequestInfo('GET', path, 'a=b')).toThrow(
      new RequestInfoError(`unable to determine kind and namespace from url, ${path}?a=b`),
    );
  });

  test('keeps selectors for verbs that support them, but not for watch paths', () => {
    const query = 'fieldSelector=a%3Db&labelSelector=x,y';
    expect(newRequestInfo('GET', '/api/v1/pods', query)).toMatchObject({ fieldSelector: 'a=b', labelSelector: 'x,y' });
    expect(newRequestInfo('DELETE', '/api/v1/pods', query)).toMatchObject({
      fieldSelector: 'a=b',
      labelSelector: 'x,y',
    });
    expect(newRequestInfo('GET', '/api/v1/watch/pods', query)).toMatchObject({ fieldSelector: '', labelSelector: '' });
    expect(newRequestInfo('GET', '/api/v1/pods/a', query)).toMatchObject({ fieldSelector: '', labelSelector: '' });
  });

  test.each([
    ['GET', '/api/v1/pods', 'watch=1', true],
    ['GET', '/api/v1/namespaces/a/pods/b/log', '', true],
    ['GET', '/api/v1/namespaces/a/pods/b/status', '', false],
    ['GET', '/api/v1/proxy/pods/b', '', true],
    ['GET', '/healthz', '', false],
  ])('%s %s?%s is long-running: %s', (method, path, query, expected) => {
    expect(isLongRunning(newRequestInfo(method, path, query))).toBe(expected);
  });
});
