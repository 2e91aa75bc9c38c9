import type { RequestTracer } from '../../request/tracer.js';
import type { Handler } from '../../endpoints/http.js';
import { runFinally } from '../../util/maybe-promise.js';
import { serverId } from '../http/server-id.js';
import type { TracingConfiguration } from './configuration.js';
import type { OpenTelemetryTracer } from './tracer.js';

/** Returns the tracer that the flags configure. Without one the SDK is not even loaded. */
export async function startTracing(
  tracing: TracingConfiguration | undefined,
): Promise<OpenTelemetryTracer | undefined> {
  if (tracing === undefined) return undefined;
  const { OpenTelemetryTracer } = await import('./tracer.js');
  return new OpenTelemetryTracer(tracing, serverId());
}

/** The span names of verbs, as in kube-apiserver. */
const VERBS: Readonly<Record<string, string>> = {
  get: 'Get',
  list: 'List',
  watch: 'Watch',
  create: 'Create',
  update: 'Update',
  patch: 'Patch',
  delete: 'Delete',
  deletecollection: 'Delete',
};

/** Runs the handler in a span of its own. */
export function tracedHandler(handler: Handler, tracer: RequestTracer | undefined): Handler {
  if (tracer === undefined) return handler;
  return (context, request, response) => {
    const outer = context.span;
    const span = outer?.start(VERBS[context.info.verb] ?? context.info.verb, { resource: context.info.resource });
    if (span === undefined) return handler(context, request, response);
    context.span = span;
    const ended = (error: unknown): void => {
      context.span = outer;
      span.end(error);
    };
    return span.run(() => runFinally(() => handler(context, request, response), ended));
  };
}
