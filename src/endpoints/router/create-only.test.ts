import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Answer } from '../../../test/fakes/offload/world.js';
import type { AdmissionAttributes, AdmissionChain } from '../../admission/interfaces.js';
import { loadProtobufCodec } from '../../apimachinery/protobuf/protobuf.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { CreateOnlyApi } from '../../registry/generic/store/api-registry.js';
import type { RequestContext } from '../../request/context.js';
import { FeatureGates } from '../../util/feature-gates.js';
import { NEVER_ABORTED } from '../../util/never-aborted.js';
import { createOnlyHandler } from './create-only.js';
import type { HandlerEnvironment } from './scope.js';

test('admission of a review knows the deadline, and records how long webhooks take', async () => {
  const seen: unknown[] = [];
  const admission: AdmissionChain = {
    mutates: () => true,
    readsObjects: () => true,
    admit: (attributes: AdmissionAttributes) => {
      seen.push(attributes.deadline);
      attributes.recordWebhookDuration?.('mutating-webhook', 40);
    },
    validate: ({ name, operation, resource }) => void seen.push([operation, resource.resource, name]),
  };
  const api = {
    kind: 'virtual',
    type: {
      group: 'authorization.k8s.io',
      version: 'v1',
      resource: 'selfsubjectaccessreviews',
      singular: 'selfsubjectaccessreview',
      kind: 'SelfSubjectAccessReview',
      namespaced: false,
      create: (_context: RequestContext, object: KubeObject) => Promise.resolve(object),
    },
    fieldManager: { update: () => undefined },
  } as unknown as CreateOnlyApi;
  const body = JSON.stringify({ kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', spec: {} });
  const request = new IncomingMessage(new Socket());
  Object.assign(request, { method: 'POST', url: '/', headers: { 'content-type': 'application/json' } });
  request.push(body);
  request.push(null);
  const response = new Answer(request);
  const context = {
    info: { name: '', subresource: '', namespace: '', verb: 'create' },
    user: { name: 'u', uid: '', groups: [], extra: {} },
    userAgent: 'test',
    signal: NEVER_ABORTED,
    cancellation: NEVER_ABORTED,
    deadline: 123,
    recordWebhookDuration: (layer: string, millis: number) => seen.push([layer, millis]),
  } as unknown as RequestContext;
  const environment = {
    admission,
    features: new FeatureGates(),
    maxRequestBodyBytes: 1000,
    protobuf: loadProtobufCodec(),
  } as unknown as HandlerEnvironment;
  await createOnlyHandler(api, { environment, context, request, response });
  expect(response.statusCode).toBe(201);
  expect(seen).toEqual([123, ['mutating-webhook', 40], ['CREATE', 'selfsubjectaccessreviews', '']]);
});
