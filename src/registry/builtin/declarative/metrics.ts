import type { Registry } from 'prom-client';
import type { Logger } from '../../../util/logger.js';
import { CounterVec } from '../../../util/metrics/metrics.js';
import type { DeclarativeValidation } from './declared-type.js';

const PREFIX = 'apiserver_validation_declarative_validation';
const LABELS = ['validation_identifier'];

/** Returns a reporter that counts and logs the differences between the two validations. */
export function declarativeReporter(registry: Registry, logger: Logger): DeclarativeValidation['report'] {
  const counter = (name: string, help: string, labels: readonly string[] = []): CounterVec =>
    new CounterVec({ name, help, labels }, registry);
  const help = 'Errors found by only one of declarative and hand-written validation.';
  const mismatches = [
    counter('declarative_validation_mismatch_total', help).withLabelValues(),
    counter(`${PREFIX}_mismatch_total`, help).withLabelValues(),
  ];
  const byIdentifier = counter(`${PREFIX}_parity_discrepancies_total`, `${help} By type and operation.`, LABELS);
  const panicHelp = 'Declarative validations that ended with an exception.';
  const panics = counter(`${PREFIX}_panic_total`, panicHelp).withLabelValues();
  const panicsByIdentifier = counter(`${PREFIX}_panics_total`, `${panicHelp} By type and operation.`, LABELS);
  return ({ kind, validation, ...facts }) => {
    if (kind === 'mismatch') {
      for (const cell of mismatches) cell.inc();
      byIdentifier.withLabelValues(validation).inc();
      logger.error('declarative and hand-written validation differ', { validation, ...facts });
    } else {
      panics.inc();
      panicsByIdentifier.withLabelValues(validation).inc();
      logger.error('declarative validation failed', { validation, ...facts });
    }
  };
}
