import { annotations } from "../../api/names.ts";
import { recordAt, stringAt } from "../../api/parse.ts";
import type { SharedSecret } from "../../api/shared-secret.ts";

/** The refresh that a SharedSecret requests, and the last one in its status. */
interface RefreshRequest {
  readonly requested?: string;
  readonly refreshed?: string;
}

/** Characters of `refresh-now` that count; the status contains as many. */
const longestValue = 256;

/** Reads the annotation `refresh-now` and the status of a SharedSecret. */
export function refreshRequestOf({ metadata, status }: SharedSecret): RefreshRequest {
  const requested = metadata.annotations[annotations.refreshNow]?.slice(0, longestValue);
  const refreshed = stringAt(recordAt(status, "sync"), "refreshed");
  return {
    ...(requested === undefined ? {} : { requested }),
    ...(refreshed === undefined ? {} : { refreshed }),
  };
}
