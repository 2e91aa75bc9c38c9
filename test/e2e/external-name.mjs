#!/usr/bin/env node
// After helm's rendering: the Service of Annex leads to localhost, because the tests run its process without pods.
import { readFileSync } from 'node:fs';
import { parseAllDocuments, stringify } from 'yaml';

const objects = parseAllDocuments(readFileSync(0, 'utf8')).map((document) => document.toJS());
for (const object of objects) {
  if (object?.kind !== 'Service') continue;
  object.spec = { type: 'ExternalName', externalName: 'localhost', ports: object.spec.ports };
}
process.stdout.write(
  objects
    .filter((object) => object !== null)
    .map((object) => stringify(object))
    .join('---\n'),
);
