import type { ResourceQuota } from '../../../../apimachinery/generated/core.js';
import { compareUtf8 } from '../../../../apimachinery/meta/meta.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { quantityOf } from '../../shared/resources.js';
import { Age, tableOf } from '../../shared/table.js';
import { applyQuotaDefaults, quotaStatusStrategy, quotaStrategy } from './strategy.js';

/** Shows the used and the allowed amounts. Limits have a column of their own. */
const quotaTable = tableOf<ResourceQuota>('api/v1/resourcequotas', (object) => {
  const status = object.status;
  const hard = status?.hard ?? {};
  const used = status?.used ?? {};
  const names = Object.keys(hard).sort(compareUtf8);
  const shown = (wanted: (name: string) => boolean): string =>
    names
      .filter(wanted)
      .map((name) => `${name}: ${quantityOf(used[name]).toString()}/${quantityOf(hard[name]).toString()}`)
      .join(', ');
  const isLimit = (name: string): boolean => name.startsWith('limits.');
  return [object.metadata.name ?? '', shown((name) => !isLimit(name)), shown(isLimit), Age.of(object)];
});

export const resourceQuotas = builtinType<ResourceQuota>({
  group: '',
  resource: 'resourcequotas',
  kind: 'ResourceQuota',
  shortNames: ['quota'],
  namespaced: true,
  validateName: nameIsDnsSubdomain,
  strategy: quotaStrategy,
  subresources: { status: quotaStatusStrategy },
  table: quotaTable,
  applyDefaults: applyQuotaDefaults,
  returnsDeletedObject: true,
});
