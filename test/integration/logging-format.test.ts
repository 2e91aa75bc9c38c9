import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { Http1 } from './client.js';
import { run, scratchFolder, TestServer } from './server.js';

const folder = scratchFolder();

/** Every line, parsed. Throws if one is not a JSON object. */
const linesOf = (output: string): JsonObject[] =>
  output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JsonObject);

describe('--logging-format=json', () => {
  test('every line of both outputs is JSON, the first one included', async () => {
    const server = await TestServer.start(folder, ['--logging-format=json', '--v=3', '--audit-log-path=-']);
    await new Http1(server).send({ path: '/api/v1/namespaces' });
    const { stdout, stderr } = await server.stop();
    expect(linesOf(stdout)[0]).toMatchObject({
      level: 'info',
      message: expect.stringMatching(/^Annex serves the Kubernetes API \(v[\d.]+\) on https:/) as string,
    });
    expect(linesOf(stderr).length).toBeGreaterThan(1);
  });

  test('so is the error that ends a start', async () => {
    const flags = ['--data-dir', '/proc/nowhere', '--secure-port', '0', '--logging-format=json'];
    const { code, stderr } = await run(['serve', ...flags]);
    expect(code).toBe(1);
    expect(linesOf(stderr).at(-1)).toMatchObject({
      level: 'error',
      message: expect.stringMatching(/^annex: /) as string,
    });
  });
});
