import type { LoopbackClient } from '../registry/rest/loopback-client.js';
import { type Clock, sleep } from '../util/clock.js';
import { createIfMissing } from './create-if-missing.js';

const SYSTEM_NAMESPACES = ['kube-system', 'kube-public', 'kube-node-lease', 'default'];
/** The server sets it anyway; it is sent so that managedFields attribute it to the creator. */
const NAME_LABEL = 'kubernetes.io/metadata.name';
const INTERVAL_MILLIS = 60_000;
const RETRY_MILLIS = 1_000;

/** Creates the system namespaces at startup, and again whenever one is missing. */
export async function keepSystemNamespaces(
  client: LoopbackClient,
  clock: Clock,
  signal: AbortSignal,
  failed: (error: unknown) => void,
): Promise<void> {
  for (let reported = false; !signal.aborted;) {
    try {
      await ensure(client);
      break;
    } catch (error) {
      // The store may be unavailable.
      if (!reported) failed(error);
      reported = true;
      await sleep(clock, RETRY_MILLIS, signal);
    }
  }
  void (async () => {
    for (;;) {
      await sleep(clock, INTERVAL_MILLIS, signal);
      if (signal.aborted) return;
      await ensure(client).catch(failed);
    }
  })();
}

async function ensure(client: LoopbackClient): Promise<void> {
  for (const name of SYSTEM_NAMESPACES) {
    const metadata = { name, labels: { [NAME_LABEL]: name } };
    await createIfMissing(client, { apiVersion: 'v1', kind: 'Namespace', metadata });
  }
}
