import { objectsOf, textOf } from '../../../../apimachinery/json/values.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import { numberOf } from '../../shared/fields.js';
import { Age, tableOf } from '../../shared/table.js';

const SHOWN = 3;

const withPort = (ip: string, port: number): string =>
  ip.includes(':') ? `[${ip}]:${String(port)}` : `${ip}:${String(port)}`;

function addresses(object: KubeObject): string {
  const subsets = objectsOf(object['subsets']);
  if (subsets.length === 0) return '<none>';
  const all: string[] = [];
  for (const subset of subsets) {
    const ips = objectsOf(subset['addresses']).map((address) => textOf(address['ip']));
    const ports = objectsOf(subset['ports']);
    if (ports.length === 0) all.push(...ips);
    for (const port of ports) all.push(...ips.map((ip) => withPort(ip, numberOf(port['port']))));
  }
  const shown = all.slice(0, SHOWN).join(',');
  return all.length > SHOWN ? `${shown} + ${String(all.length - SHOWN)} more...` : shown;
}

export const endpointsTable = tableOf('api/v1/endpoints', (object) => [
  object.metadata.name ?? '',
  addresses(object),
  Age.of(object),
]);
