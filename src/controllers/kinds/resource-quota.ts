import { refOf } from "../../api/object.ts";
import { parseResourceQuota, type ObservedResourceQuota } from "../../api/resource-quota.ts";
import { resources } from "../../api/resources.ts";
import { quotaRelief } from "../../domain/sync/quota-relief.ts";
import { retryWithin } from "../refused-objects.ts";
import type { WatchedKind } from "./watched-kind.ts";

/** ResourceQuotas that limit what Latchkey writes; at most eight numbers of each are kept. */
export function resourceQuotaKind(): WatchedKind<ObservedResourceQuota> {
  return {
    listOptions: { resource: resources.resourceQuotas },
    isReadOnly: true,
    parse: parseResourceQuota,
    enqueue: ({ key, before, after }, enqueuer) =>
      retryWithin(refOf(key).namespace ?? "", quotaRelief(before, after), enqueuer),
  };
}
