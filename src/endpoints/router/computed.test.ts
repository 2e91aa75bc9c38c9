import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { Answer } from '../../../test/fakes/offload/world.js';
import type { AdmissionAttributes, AdmissionChain } from '../../admission/interfaces.js';
import { loadProtobufCodec } from '../../apimachinery/protobuf/protobuf.js';
import { loadMergeTypes, reviewKinds } from '../../registry/builtin/install.js';
import { reviewNames } from '../../registry/builtin/shared/review-names.js';
import { computedApi } from '../../registry/generic/computed.js';
import type { ComputedKind } from '../../registry/rest/computed.js';
import type { CreateOnlyType } from '../../registry/rest/create-only.js';
import type { RequestContext } from '../../request/context.js';
import { FeatureGates } from '../../util/feature-gates.js';
import { NEVER_ABORTED } from '../../util/never-aborted.js';
import { routeComputed } from './computed.js';
import type { HandlerEnvironment } from '../handlers/scope.js';

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
  const type: CreateOnlyType = {
    ...reviewNames('authorization.k8s.io', 'SelfSubjectAccessReview', 'Cluster'),
    create: (_context, object) => Promise.resolve(object),
  };
  const [kind] = reviewKinds([type], loadMergeTypes(), new FakeClock()) as [ComputedKind];
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
  await routeComputed(computedApi(kind), { environment, context, request, response });
  expect(response.statusCode).toBe(201);
  expect(seen).toEqual([123, ['mutating-webhook', 40], ['CREATE', 'selfsubjectaccessreviews', '']]);
});
