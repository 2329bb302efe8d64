import { randomBytes } from "node:crypto";
import { isSameSegment } from "./admission-path.ts";

/** Generates the token of a page: 256 random bits in the alphabet of base64url. */
export function newPageToken(): string {
  return randomBytes(32).toString("base64url");
}

/** Whether a client presents the token of a page; compares in constant time. */
export function isPageToken(presented: string, token: string): boolean {
  return isSameSegment(presented, token);
}
