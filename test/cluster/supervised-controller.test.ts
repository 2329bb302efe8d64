import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { startController, type LatchkeyProcess } from "../support/latchkey-process.ts";
import { eventually } from "../support/eventually.ts";
import { tryKubectl } from "../support/kubectl.ts";

/**
 * A program that responds to every request with its pid; the supervisor does not depend on anything
 * else of a controller.
 */
const stub = `
import { createServer } from "node:http";
const [host, port] = process.env.LATCHKEY_HTTP_ADDRESS.split(":");
createServer((_, answer) => answer.end(String(process.pid))).listen(Number(port), host);
process.on("SIGTERM", () => process.exit(0));
`;

const controlPlane = inject("controlPlane");

describe("a supervised controller", () => {
  let controller: LatchkeyProcess;
  let pidFile: string;

  beforeAll(async () => {
    const directory = mkdtempSync(join(controlPlane.directory, "stub-"));
    const program = join(directory, "stub.mjs");
    pidFile = join(directory, "controller.pid");
    writeFileSync(program, stub);
    controller = await startController({ controlPlane, directory, program, pidFile });
    await controller.waitReady();
  });

  afterAll(async () => {
    await controller.stop();
  });

  it("is authenticated as its service account", async () => {
    const kubeconfigs = { controller: controller.kubeconfig };
    const whoami = ["auth", "whoami", "--output=jsonpath={.status.userInfo.username}"];
    const { stdout } = await tryKubectl({ ...controlPlane, kubeconfigs }, whoami, {
      user: "controller",
    });
    expect(stdout).toBe("system:serviceaccount:latchkey-system:latchkey-controller");
  });

  it("restarts on its port after SIGKILL, and updates the pid file", async () => {
    const killed = controller.pid;
    controller.kill("SIGKILL");
    const pid = await eventually(
      async () => {
        const answer = await (await fetch(controller.url)).text();
        return answer !== String(killed) && answer;
      },
      { what: "another process on the same port" },
    );
    expect([readFileSync(pidFile, "utf8").trim(), controller.pid]).toEqual([pid, Number(pid)]);
  });

  it("is not restarted when it is stopped", async () => {
    const { starts } = controller;
    expect(await controller.stop()).toEqual({ code: 0, signal: null });
    await expect(fetch(controller.url)).rejects.toThrow("fetch failed");
    expect(controller.starts).toBe(starts);
  });
});
