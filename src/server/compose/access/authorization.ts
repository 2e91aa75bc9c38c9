import { statSync } from 'node:fs';
import type { Registry } from 'prom-client';
import { parseFieldSelector } from '../../../apimachinery/selectors/field-selectors.js';
import { parseLabelSelector } from '../../../apimachinery/selectors/label-parser.js';
import { SelectorError } from '../../../apimachinery/selectors/labels.js';
import type { AuthorizerAttributes } from '../../../authorization/authorizer/interfaces.js';
import { fieldRequirements, labelRequirements } from '../../../authorization/authorizer/selectors.js';
import { type BuiltAuthorizer, buildAuthorizer } from '../../../authorization/build-authorizer.js';
import { authorizationMetrics } from '../../../authorization/metrics.js';
import { NodeGraph } from '../../../authorization/node/node-graph.js';
import { RbacIndex } from '../../../authorization/rbac/rbac-index.js';
import { compileCelCondition } from '../../../authorization/webhook/cel-conditions.js';
import type { RequestInfo } from '../../../request/request-info.js';
import type { Clock } from '../../../util/clock.js';
import { messageOf } from '../../../util/error-message.js';
import type { Logger } from '../../../util/logger.js';
import { watchFile } from '../../../util/files/watch-file.js';
import { authorizationOptions } from '../../options/authorization-options.js';
import { StartError } from '../../certificates/data-directory.js';
import type { Options } from '../../options/options.js';
import { serverId } from '../../http/server-id.js';
import { connectWebhook } from './webhook-connection.js';
import { readText } from '../../../util/files/read-text.js';

export interface Authorization extends BuiltAuthorizer {
  /** Must be fed with roles and bindings in every mode: the escalation checks use it too. */
  readonly rbac: RbacIndex;
  /** Must be fed with pods and volumes if Node is among the modes. */
  readonly nodes: NodeGraph;
}

function statFile(path: string): { readonly regular: boolean } | { readonly missing: string } {
  try {
    return { regular: statSync(path).isFile() };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    const why = code === 'ENOENT' ? 'no such file or directory' : messageOf(error);
    return { missing: `stat ${path}: ${why}` };
  }
}

/** Returns the authorizer that the flags configure. Throws StartError if the server must not start with them. */
export async function makeAuthorization(
  options: Options,
  context: { clock: Clock; logger: Logger; registry: Registry; signal: AbortSignal },
): Promise<Authorization> {
  const { clock, logger, registry, signal } = context;
  const rbac = new RbacIndex();
  const nodes = new NodeGraph();
  try {
    const built = await buildAuthorizer(
      authorizationOptions(options),
      {
        rbac,
        nodes,
        compileCondition: compileCelCondition,
        metrics: authorizationMetrics(serverId(), registry),
        clock,
        random: Math.random,
        readFile: readText,
        statFile,
        watchFile: (path, changed, until) => watchFile(path, changed, clock, until),
        connect: (path, timeoutMillis) => connectWebhook(path, clock, 'https', timeoutMillis),
        failed: (text) => logger.error(text),
      },
      signal,
    );
    return { ...built, rbac, nodes };
  } catch (error) {
    const flag = options.authorizationConfig === '' ? '--authorization-mode' : '--authorization-config';
    throw new StartError(`${flag}: ${messageOf(error)}`);
  }
}

/** Returns the selectors of a list, watch, or deletecollection as authorizers see them. A selector that cannot be parsed is left out. */
export function selectorsOf(info: RequestInfo): Pick<AuthorizerAttributes, 'fieldSelector' | 'labelSelector'> {
  const fields = readable(() => fieldRequirements(parseFieldSelector(info.fieldSelector).requirements));
  const labels = readable(() => labelRequirements(parseLabelSelector(info.labelSelector).requirements));
  return {
    ...(fields.length > 0 && { fieldSelector: fields }),
    ...(labels.length > 0 && { labelSelector: labels }),
  };
}

function readable<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof SelectorError) return [];
    throw error;
  }
}
