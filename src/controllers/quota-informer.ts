import { parseResourceQuota, type ObservedResourceQuota } from "../api/resource-quota.ts";
import { resources } from "../api/resources.ts";
import { Informer, type InformerDeps } from "../kube/informer.ts";
import type { Change } from "../kube/store.ts";

/** ResourceQuotas that limit what Latchkey writes; of each, eight numbers at most are held. */
export function resourceQuotaInformer(
  deps: InformerDeps,
  onChange: (change: Change<ObservedResourceQuota>) => void,
): Informer<ObservedResourceQuota> {
  return new Informer<ObservedResourceQuota>(
    { listOptions: { resource: resources.resourceQuotas }, parse: parseResourceQuota, onChange },
    deps,
  );
}
