import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../util/clock.js';
import { featureGates } from '../../util/feature-gates.js';
import type { ToWorker } from './messages.js';
import { TaskRunner } from './task-runner.js';

// As in the main thread: keys of JSON objects are data.
Reflect.deleteProperty(Object.prototype, '__proto__');

const port = parentPort;
if (port === null) throw new Error('this program runs as a worker');
const { gates } = workerData as { gates: string };
featureGates.set(gates);
const runner = new TaskRunner(port, systemClock);
port.on('message', (message: ToWorker) => {
  runner.receive(message);
});
