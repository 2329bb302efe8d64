/*
 * A webhook without logic: reads each request and always sends the same response. Arguments: port,
 * directory with tls.crt, tls.key and ca.crt.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";

const [port, directory = ""] = process.argv.slice(2);
const read = (file: string): string => readFileSync(join(directory, file), "utf8");
const answer = JSON.stringify({
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenReview",
  status: {
    authenticated: true,
    user: {
      username: "somebody",
      groups: ["a-group"],
      extra: { "example.com/key-id": ["00000000-0000-4000-8000-000000000000"] },
    },
  },
});

createServer(
  {
    cert: read("tls.crt"),
    key: read("tls.key"),
    ca: read("ca.crt"),
    requestCert: true,
    rejectUnauthorized: true,
  },
  (incoming, outgoing) => {
    incoming
      .resume()
      .on("end", () => outgoing.setHeader("content-type", "application/json").end(answer));
  },
).listen(Number(port), "127.0.0.1");
