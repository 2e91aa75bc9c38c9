import { flagsOf, text } from './flags.js';

/** Flags of tracing. */
export const TRACING_FLAGS = {
  tracingConfigFile: flagsOf('Traces flags:')(
    'tracing-config-file',
    text,
    '',
    'File with a TracingConfiguration (apiserver.config.k8s.io/v1), which defines where traces are sent, with OTLP over gRPC, and how many requests are traced.',
  ),
};
