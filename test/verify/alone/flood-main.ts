/*
 * The process of the attackers: reads its terms as JSON from the standard input, and holds what it has
 * opened until it is killed. Clients in the same process as the honest one would hold that one up.
 */
import { randomBytes } from "node:crypto";
import { text } from "node:stream/consumers";
import { type FloodTerms, openSession, send } from "./flood-client.ts";

const attackersAddress = "127.0.0.2";
/** Fewer than a session may have. */
const streamsOfSession = 100;

const terms: FloodTerms = JSON.parse(await text(process.stdin));
for (const { path, count, body } of terms.floods)
  for (const key of terms.keys)
    for (let opened = 0; opened < count; opened += streamsOfSession) {
      const over = openSession(terms, attackersAddress);
      for (let at = opened; at < Math.min(count, opened + streamsOfSession); at += 1)
        void send(over, { path, key, ...(body === undefined ? {} : { body }) });
    }
const { token = "", connections: forgers = 0 } = terms.forgeries ?? {};
for (let opened = 0; opened < forgers; opened += 1)
  void forge(openSession(terms, attackersAddress));

async function forge(over: ReturnType<typeof openSession>): Promise<void> {
  const [header, claims, signature = ""] = token.split(".");
  while (!over.destroyed) {
    const forged = randomBytes(Buffer.from(signature, "base64url").length).toString("base64url");
    await send(over, { path: "/version", key: [header, claims, forged].join(".") });
  }
}

for (let opened = 0; opened < terms.connections; opened += 1) openSession(terms, attackersAddress);
