import type { JsonObject } from '../../apimachinery/json/json.js';
import { Exchange } from '../../endpoints/filters/exchange.js';
import { send } from '../../endpoints/filters/status.js';
import type { Handler } from '../../endpoints/http.js';
import { negotiatePage, wantsPretty } from '../../endpoints/negotiation/media.js';
import { encodePlainTree } from '../../endpoints/responsewriters/encoders.js';
import { prettyParameter } from '../../endpoints/responsewriters/status.js';
import type { Clock } from '../../util/clock.js';
import { effectiveVersion } from '../../util/effective-version.js';
import type { FeatureGates } from '../../util/feature-gates.js';
import { type Flag, flagText } from '../options/flags.js';
import { FLAGS, type Options } from '../options/options.js';
import type { NonResourceRoutes } from '../http/non-resource-routes.js';
import { KUBERNETES_VERSION } from '../http/documents/version.js';

const COMPONENT = 'apiserver';
const GROUP = 'config.k8s.io';
const VERSIONS = ['v1alpha1', 'v1beta1'];
const DEPRECATED = new Set(['v1alpha1']);

interface Page {
  /** The kind, such as `Statusz`. The path is the same in lower case. */
  readonly kind: string;
  /** The key-value pairs of the text form. */
  lines(): Iterable<readonly [string, string]>;
  /** The members of the object besides its type and metadata. */
  members(): JsonObject;
}

const HEAD = (name: string): string =>
  `\n${COMPONENT} ${name}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n`;

/** Returns the handler of a page, which is text unless the client asks for an object of its kind. */
function pageHandler(page: Page, cbor: boolean): Handler {
  const name = page.kind.toLowerCase();
  const { kind } = page;
  return (context, request, response) => {
    const media = negotiatePage(request.headers.accept, cbor, { group: GROUP, kind, versions: VERSIONS });
    if (media === 'text') {
      const lines = [...page.lines()].map(([key, value]) => (key === '' ? '\n' : `${key}: ${value}\n`));
      send(response, 200, 'text/plain; charset=utf-8', HEAD(name) + lines.join(''));
      return;
    }
    if (DEPRECATED.has(media.version)) {
      const warning = `This version of the ${name} endpoint is deprecated. Please use a newer version.`;
      response.setHeader('Warning', `299 - "${warning}"`);
    }
    const userAgent = context instanceof Exchange ? context.userAgent : '';
    const pretty = media.pretty || wantsPretty({ pretty: prettyParameter(request.url ?? ''), userAgent });
    const object = {
      kind,
      apiVersion: `${GROUP}/${media.version}`,
      metadata: { name: COMPONENT },
      ...page.members(),
    };
    send(response, 200, media.mediaType, Buffer.from(encodePlainTree({ ...media, pretty }, object)));
  };
}

/** Folders of APIs, which do not help in debugging. */
const NOT_FOR_DEBUGGING = new Set(['api', 'apis', 'openid', 'openapi', '.well-known']);

function folders(paths: Iterable<string>): string[] {
  const found = new Set<string>();
  for (const path of paths) {
    const folder = path.split('/')[1] ?? '';
    if (folder !== '' && !NOT_FOR_DEBUGGING.has(folder)) found.add(`/${folder}`);
  }
  return [...found].sort();
}

/** Formats a time as `date` does: `Sun Nov 22 13:18:32 UTC 2026`. */
function unixDate(millis: number): string {
  const [day = '', date = '', month = '', year = '', time = ''] = new Date(millis).toUTCString().split(/,? /);
  return `${day} ${month} ${String(Number(date)).padStart(2, ' ')} ${time} UTC ${year}`;
}

const twoDigits = (value: number): string => String(Math.floor(value)).padStart(2, '0');

export interface ZPagesConfig {
  readonly clock: Clock;
  readonly gates: FeatureGates;
  readonly options: Options;
}

type ZPagesRoutes = Pick<NonResourceRoutes, 'register' | 'paths'>;

function statusz({ clock }: ZPagesConfig, routes: ZPagesRoutes): Page {
  const startedAt = clock.now();
  const binaryVersion = KUBERNETES_VERSION.slice(1);
  const emulationVersion = (): string => `1.${effectiveVersion.emulation}`;
  const seconds = (): number => Math.max(0, Math.floor((clock.now() - startedAt) / 1000));
  const up = (): string => {
    const now = seconds();
    return `${Math.floor(now / 3600)} hr ${twoDigits((now / 60) % 60)} min ${twoDigits(now % 60)} sec`;
  };
  return {
    kind: 'Statusz',
    lines: () => [
      ['', ''],
      ['Started', unixDate(startedAt)],
      ['Up', up()],
      ['Go version', process.version],
      ['Binary version', binaryVersion],
      ['Emulation version', emulationVersion()],
      ['Paths', folders(routes.paths()).join(' ')],
    ],
    members: () => ({
      startTime: new Date(startedAt).toISOString().replace(/\.\d+Z$/, 'Z'),
      uptimeSeconds: seconds(),
      goVersion: process.version,
      binaryVersion,
      emulationVersion: emulationVersion(),
      paths: folders(routes.paths()),
    }),
  };
}

/** Flags that may hold passwords. */
const CLASSIFIED: ReadonlySet<string> = new Set([FLAGS.mongodbUri.name]);

function flagz({ options }: ZPagesConfig): Page {
  const flags = Object.entries(FLAGS)
    .map(([key, flag]): [string, string] => [
      flag.name,
      CLASSIFIED.has(flag.name) ? 'CLASSIFIED' : flagText(flag as Flag<unknown>, options[key as keyof typeof FLAGS]),
    ])
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return { kind: 'Flagz', lines: () => flags, members: () => ({ flags: Object.fromEntries(flags) }) };
}

/** Registers `/statusz`, the state of the process, and `/flagz`, the flags it runs with. */
export function installZPages(routes: ZPagesRoutes, config: ZPagesConfig): void {
  const { gates } = config;
  const cbor = gates.enabled('CBORServingAndStorage');
  if (gates.enabled('ComponentFlagz')) routes.register('/flagz', pageHandler(flagz(config), cbor));
  if (gates.enabled('ComponentStatusz')) routes.register('/statusz', pageHandler(statusz(config, routes), cbor));
}
