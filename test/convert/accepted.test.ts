import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { freePorts, Started, writeKeys } from './control-plane.js';
import { convert, documentsOf, manifests, textOf, TOOLS } from './program.js';

const missing = ['etcd', 'kube-apiserver'].filter((name) => !existsSync(join(TOOLS, name)));
const title = 'what comes out is accepted by kube-apiserver under strict field validation';

/** Where objects are created, by version and kind. */
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
      // The old ones are not served: the proof that there was something to convert.
      for (const { apiVersion, kind } of before) {
        expect([apiVersion, kind, (await resourcesOf(apiVersion)).get(kind)]).toEqual([apiVersion, kind, undefined]);
      }
    });
  },
);

/** Groups that are gone are answered in plain text. */
const isJson = (response: IncomingMessage): boolean =>
  response.headers['content-type']?.startsWith('application/json') === true;
