import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { eventually, ROOT, scratchFolder, TestServer } from '../integration/server.js';

/** Returns the kubectl to test with, or the reason why none exists. */
export function findKubectl(): { readonly path: string } | { readonly missing: string } {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'hack/tools/kubectl.sh'), { encoding: 'utf8' });
  if (status === 0) {
    const path = stdout.trim();
    const client = spawnSync(path, ['version', '--client'], { encoding: 'utf8' }).stdout;
    const minor = Number(/v1\.(\d+)/.exec(client)?.[1] ?? 0);
    // The output has changed from release to release.
    return minor >= OLDEST_MINOR ? { path } : { missing: `${path} is v1.${minor}, older than v1.${OLDEST_MINOR}` };
  }
  return { missing: stderr.trim().split('\n').at(-1) ?? 'unknown' };
}

const OLDEST_MINOR = 36;

export interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly result: Promise<Result>;
}

interface RunOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs kubectl as users do, against one server, with a separate home folder. */
export class Kubectl {
  constructor(
    private readonly path: string,
    private readonly kubeconfig: string,
    readonly home: string,
  ) {}

  /** Starts a command that runs until it ends, or until the caller ends it. */
  start(args: readonly string[], options: RunOptions = {}): Running {
    const env = { ...process.env, HOME: this.home, KUBECONFIG: this.kubeconfig, ...options.env };
    const child = spawn(this.path, args, { cwd: this.home, env, stdio: 'pipe' });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.stdin ?? '');
    const result = new Promise<Result>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => {
        resolve({ code, stdout, stderr });
      });
    });
    return { child, out: () => stdout, result };
  }

  run(args: readonly string[], options: RunOptions = {}): Promise<Result> {
    return this.start(args, options).result;
  }

  /** Returns the output of a command that must succeed. */
  async ok(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, options);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: exit ${String(code)}\n${stdout}${stderr}`);
    return stdout;
  }

  /** Returns the error text of a command that must fail. */
  async fails(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, options);
    if (code === 0) throw new Error(`kubectl ${args.join(' ')} went well:\n${stdout}`);
    return stderr;
  }
}

/** Returns the rows of a table as lists of cells; kubectl separates cells with at least three spaces. */
export const rows = (table: string): string[][] =>
  table
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/\s{3,}/));

/**
 * Describes tests of kubectl against a separate server and namespace; skipped, with the reason, without a kubectl.
 * ANNEX_CONFORMANCE_KUBECONFIG names another server, for example kube-apiserver, to verify the expectations.
 */
export function describeKubectl(namespace: string, define: (kubectl: () => Kubectl, namespace: string) => void): void {
  const found = findKubectl();
  if ('missing' in found) {
    describe.skip(`kubectl (skipped: ${found.missing})`, () => {
      test('kubectl', () => undefined);
    });
    return;
  }
  describe('kubectl', () => {
    const cleanups: (() => Promise<unknown>)[] = [];
    const folder = scratchFolder(async () => {
      for (const cleanup of cleanups) await cleanup();
    });
    const other = process.env['ANNEX_CONFORMANCE_KUBECONFIG'];
    let server: TestServer | undefined;
    let kubectl: Kubectl | undefined;
    beforeAll(async () => {
      if (other === undefined) server = await TestServer.start(folder);
      kubectl = new Kubectl(found.path, other ?? server?.kubeconfig ?? '', folder);
      await kubectl.ok(['create', 'namespace', namespace]);
    });
    cleanups.push(async () => {
      if (other === undefined) return server?.stop('SIGKILL');
      // On an external server nothing is left behind.
      await kubectl?.run(['delete', 'crd', '-l', `test=${namespace}`, '--wait=false']);
      return kubectl?.run(['delete', 'namespace', namespace, '--wait=false']);
    });
    define(() => {
      if (kubectl === undefined) throw new Error('the server has not started');
      return kubectl;
    }, namespace);
  });
}

/** Returns a definition as YAML, with printer columns, status, scale, and a selectable field. */
export function widgetDefinition(group: string, namespace: string): string {
  return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.${group}
  labels: {test: ${namespace}}
spec:
  group: ${group}
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wg], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    selectableFields:
    - jsonPath: .spec.colour
    additionalPrinterColumns:
    - {name: Colour, type: string, jsonPath: .spec.colour}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    - {name: Owner, type: string, jsonPath: .spec.owner, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    schema:
      openAPIV3Schema:
        description: A widget is a thing of the tests.
        type: object
        properties:
          spec:
            description: What the widget shall be.
            type: object
            required: [colour]
            properties:
              colour: {type: string, description: The colour of it., enum: [red, green, blue]}
              owner: {type: string}
              replicas: {type: integer, minimum: 0, default: 1}
              parts:
                type: array
                items:
                  type: object
                  properties:
                    name: {type: string, description: The name of the part.}
          status:
            type: object
            properties:
              replicas: {type: integer}
              conditions:
                type: array
                items:
                  type: object
                  properties: {type: {type: string}, status: {type: string}}
`;
}

export function widget(group: string, name: string, spec: object, labels?: object): string {
  return JSON.stringify({ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name, labels }, spec });
}

/** Defines widgets before the tests of a describe block. */
export function withWidgets(kubectl: () => Kubectl, group: string, namespace: string): void {
  beforeAll(async () => {
    await kubectl().ok(['apply', '-f', '-'], { stdin: widgetDefinition(group, namespace) });
    await kubectl().ok(['wait', '--for=condition=Established', `crd/widgets.${group}`, '--timeout=100s']);
    await eventually('widgets are served', async () =>
      (await kubectl().run(['get', `widgets.${group}`, '-A'])).code === 0 ? true : undefined,
    );
  });
}
