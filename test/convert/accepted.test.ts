import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { freePorts, Started, writeKeys } from './control-plane.js';
import { convert, documentsOf, manifests, textOf, TOOLS } from './program.js';

const missing = ['etcd', 'kube-apiserver'].filter((name) => !existsSync(join(TOOLS, name)));
const title = 'kube-apiserver accepts the output under strict field validation';

/** Paths of collections, by version and kind. */
type Resources = ReadonlyMap<string, string>;

(missing.length === 0 ? describe : describe.skip)(
  missing.length === 0 ? title : `${title} (skipped: no ${missing.join(', ')})`,
  () => {
    let folder: string;
    let server: Started | undefined;
    const known = new Map<string, Resources>();

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'convert-server-'));
      writeKeys(folder);
      server = await Started.begin(TOOLS, folder, await freePorts(3));
    });
    afterAll(async () => {
      await server?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    function call(method: string, path: string, body?: object): Promise<{ status: number; body: JsonObject }> {
      return new Promise((resolve, reject) => {
        const headers = { authorization: 'Bearer convert', 'content-type': 'application/json' };
        const ca = readFileSync(join(folder, 'server.crt'));
        const sent = request({ host: '127.0.0.1', port: server?.port, method, path, headers, ca }, (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => (text += part));
          response.on('end', () => {
            resolve({
              status: response.statusCode ?? 0,
              body: isJson(response) ? (JSON.parse(text) as JsonObject) : {},
            });
          });
        });
        sent.on('error', reject);
        sent.end(body === undefined ? undefined : JSON.stringify(body));
      });
    }

    async function resourcesOf(apiVersion: string): Promise<Resources> {
      const seen = known.get(apiVersion);
      if (seen !== undefined) return seen;
      const { body } = await call('GET', `/apis/${apiVersion}`);
      const resources = (body['resources'] ?? []) as { name: string; kind: string; namespaced: boolean }[];
      const paths = resources
        .filter(({ name }) => !name.includes('/'))
        .map(({ name, kind, namespaced }): [string, string] => [
          kind,
          `/apis/${apiVersion}${namespaced ? '/namespaces/default' : ''}/${name}`,
        ]);
      const made = new Map(paths);
      known.set(apiVersion, made);
      return made;
    }

    test.each(manifests().map((path) => [basename(path), path]))('%s', async (_name, path) => {
      const { code, out, err } = convert([path]);
      expect([code, err.split('\n').filter((line) => line.startsWith('error'))]).toEqual([0, []]);
      const before = documentsOf(textOf(path));
      const after = documentsOf(out);
      expect(after).toHaveLength(before.length);
      for (const object of after) {
        const resource = (await resourcesOf(object.apiVersion)).get(object.kind);
        expect([object.apiVersion, object.kind, resource !== undefined]).toEqual([
          object.apiVersion,
          object.kind,
          true,
        ]);
        const answer = await call('POST', `${resource ?? ''}?dryRun=All&fieldValidation=Strict`, object);
        expect([object.kind, answer.status, answer.body['message']]).toEqual([object.kind, 201, undefined]);
      }
      // The old versions are not served, which proves that there was something to convert.
      for (const { apiVersion, kind } of before) {
        expect([apiVersion, kind, (await resourcesOf(apiVersion)).get(kind)]).toEqual([apiVersion, kind, undefined]);
      }
    });

    test('a custom resource, by its definition', async () => {
      const definition = join(folder, 'definition.json');
      const schema = (size: object): object => ({
        openAPIV3Schema: {
          type: 'object',
          properties: { spec: { type: 'object', properties: { size } } },
        },
      });
      const crd = {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'gears.convert.example.com' },
        spec: {
          group: 'convert.example.com',
          scope: 'Namespaced',
          names: { plural: 'gears', kind: 'Gear' },
          versions: [
            { name: 'v1', served: true, storage: true, schema: schema({ type: 'integer', default: 9 }) },
            { name: 'v1beta1', served: false, storage: false, schema: schema({ type: 'integer', default: 3 }) },
          ],
        },
      };
      writeFileSync(definition, JSON.stringify(crd));
      expect((await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd)).status).toBe(201);
      const old =
        'apiVersion: convert.example.com/v1beta1\nkind: Gear\nmetadata: {name: g}\nspec: {} # its size is 3\n';
      const { code, out } = convert(['--definitions', definition, '-'], old);
      expect([code, out]).toEqual([0, expect.stringContaining('size: 3')]);
      const path = '/apis/convert.example.com/v1/namespaces/default/gears';
      while ((await call('GET', path)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 100));
      const [object = {}] = documentsOf(out);
      const answer = await call('POST', `${path}?dryRun=All&fieldValidation=Strict`, object);
      expect([answer.status, answer.body['spec']]).toEqual([201, { size: 3 }]);
    });
  },
);

/** Groups that are not served are answered in plain text. */
const isJson = (response: IncomingMessage): boolean =>
  response.headers['content-type']?.startsWith('application/json') === true;
