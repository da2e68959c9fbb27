/** An own OpenSSH server on the loopback, with a key and a configuration that are gone afterwards. */
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { freePort } from "../support/free-port.ts";

/** What is typed to, and what it shows. */
export interface MeasuredTerminal {
  type(text: string): void;
  /** Who hears what it shows, one at a time. */
  shown: (bytes: Uint8Array) => void;
  close(): Promise<void>;
}

/** A server that answers. */
export interface SecureShell {
  /** Opens a terminal with a shell. */
  open(): MeasuredTerminal;
  close(): Promise<void>;
}

/** Starts one; gives the reason where that is not possible. `BENCH_SSHD` names the program where it is not in its usual place. */
export async function startSecureShell(folder: string): Promise<SecureShell | string> {
  const program = process.env["BENCH_SSHD"] ?? find("sshd");
  const client = find("ssh");
  const maker = find("ssh-keygen");
  if (program === null || client === null || maker === null) return "there is no sshd, ssh or ssh-keygen";
  for (const key of ["host", "user"])
    spawnSync(maker, ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, key)]);
  const port = await freePort();
  const settings = {
    ListenAddress: `127.0.0.1:${port}`,
    HostKey: join(folder, "host"),
    AuthorizedKeysFile: join(folder, "user.pub"),
    PidFile: "none",
    StrictModes: "no",
    UsePAM: "no",
    PasswordAuthentication: "no",
    PermitRootLogin: "yes",
    PrintMotd: "no",
    PrintLastLog: "no",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} ${value}\n`);
  writeFileSync(join(folder, "sshd_config"), lines.join(""));
  const server = spawn(program, ["-D", "-e", "-f", join(folder, "sshd_config")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  server.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  while (!said.includes("Server listening")) {
    if (server.exitCode !== null || server.signalCode !== null) return `sshd does not start: ${said.trim()}`;
    await Promise.race([once(server.stderr, "data"), once(server, "exit")]);
  }
  const options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"];
  const asked = ["-F", "none", "-tt", "-p", String(port), "-i", join(folder, "user")];
  const args = [...asked, ...options.flatMap((option) => ["-o", option])];
  return {
    open: () => toTerminal(spawn(client, [...args, `${userInfo().username}@127.0.0.1`, "exec /bin/sh"])),
    close: () => ended(server),
  };
}

function toTerminal(child: ChildProcess): MeasuredTerminal {
  const terminal: MeasuredTerminal = {
    type: (text) => void child.stdin?.write(text),
    shown: () => {},
    close: () => ended(child),
  };
  child.stdout?.on("data", (bytes: Buffer) => terminal.shown(bytes));
  child.stderr?.on("data", (bytes: Buffer) => process.stderr.write(bytes));
  return terminal;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await once(child, "exit");
}

function find(program: string): string | null {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path)) ?? null;
}
