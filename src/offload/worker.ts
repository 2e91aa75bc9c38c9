import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../util/clock.js';
import { effectiveVersion } from '../util/effective-version.js';
import { featureGates } from '../util/feature-gates.js';
import type { ToWorker } from './messages.js';
import type { WorkerSettings } from './start.js';
import { TaskRunner } from './task-runner.js';

// As in the main thread: `__proto__` is an ordinary key of JSON objects.
Reflect.deleteProperty(Object.prototype, '__proto__');

const port = parentPort;
if (port === null) throw new Error('this program must run in a worker thread');
const { gates, emulation, minCompatibility } = workerData as WorkerSettings;
effectiveVersion.set([`1.${emulation}`], [`1.${minCompatibility}`]);
featureGates.emulate(effectiveVersion);
featureGates.set(gates);
const runner = new TaskRunner(port, systemClock);
runner.ready();
port.on('message', (message: ToWorker) => runner.receive(message));
