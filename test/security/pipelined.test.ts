/**
 * Requests that are sent ahead by somebody who reads no answer: what the server keeps for each connection is one answer.
 *
 * It used to make all of them at once: 60 requests for 500 KB on each of 48 connections cost 1,052 MiB.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { send } from "../support/http.ts";
import type { Serving } from "../support/serving-process.ts";

const program = fileURLToPath(new URL("../support/serving-process.ts", import.meta.url));
const connections = 48;
const requests = 60;

test.runIf(process.platform === "linux")(
  "requests sent ahead by those who don't read cost bounded memory",
  { timeout: 120_000 },
  async () => {
    const child = spawn(process.execPath, ["--import", "tsx", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(child, "close");
    onTestFinished(async () => {
      child.kill("SIGKILL");
      await exited;
    });
    const { port, token } = JSON.parse(String((await once(child.stdout, "data"))[0])) as Serving;
    const authorization = `Bearer ${token}`;
    const path = "/api/v1/modules/large";
    expect((await send(port, { path, headers: { authorization } })).text.length).toBeGreaterThan(500_000);
    /** Most memory that the process had so far, MiB. */
    const peak = (): number =>
      Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024;

    const before = peak();
    const one = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`;
    const sockets = Array.from({ length: connections }, () => {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      socket.pause();
      socket.write(one.repeat(requests));
      return socket;
    });
    onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
    for (let last = 0; peak() > last;) {
      last = peak();
      await pause(1_500);
    }
    const grown = peak() - before;
    process.stderr.write(
      `${connections} x ${requests} unread requests for 500 KB: peak ${peak().toFixed()} MiB, ${grown.toFixed()} more than before\n`,
    );
    expect(grown).toBeLessThan(350);
    // Others are served meanwhile, and nobody was cut for it.
    expect((await send(port, { path, headers: { authorization } })).status).toBe(200);
    expect(sockets.filter(({ destroyed }) => destroyed)).toEqual([]);
  },
);
