/** Signing in with the keys of OpenSSH, as its own programs make and hold them. */
import { execFileSync, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { systemCaller } from "fleetwright";
import { runCommandLine } from "fleetwright/cli";
import { readSigner } from "fleetwright/client/node";
import { startCommandLine, type CommandLine } from "../../support/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

function makeKey(name: string, passphrase = "", ...more: string[]): { path: string; publicKey: string } {
  const path = join(temporaryFolder(), name);
  execFileSync("ssh-keygen", [
    "-q",
    "-t",
    "ed25519",
    "-N",
    passphrase,
    "-C",
    "a comment",
    "-f",
    path,
    ...more,
  ]);
  const blob = Buffer.from(readFileSync(`${path}.pub`, "utf8").split(" ")[1]!, "base64");
  return { path, publicKey: blob.subarray(-32).toString("hex") };
}

async function letIn(line: CommandLine, publicKey: string): Promise<void> {
  const input = { username: "ada", public_key: publicKey, role: "Viewer" } as const;
  await line.server.orchestrator.operators.add(systemCaller, input);
}

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

async function runWith(
  line: CommandLine,
  { SSH_AUTH_SOCK, secrets }: { SSH_AUTH_SOCK?: string; secrets?: string[] },
  ...args: string[]
): Promise<Ran> {
  const ran: Ran = { code: 0, stdout: "", stderr: "" };
  ran.code = await runCommandLine(args, {
    stdout: (text) => void (ran.stdout += text),
    stderr: (text) => void (ran.stderr += text),
    environment: {
      FLEETWRIGHT_HOME: join(line.folder, "home"),
      FLEETWRIGHT_URL: line.server.url,
      ...(SSH_AUTH_SOCK !== undefined && { SSH_AUTH_SOCK }),
    },
    readInput: () => Promise.resolve(""),
    ...(secrets && {
      askSecret(question) {
        ran.stderr += question;
        return Promise.resolve(secrets.shift() ?? null);
      },
    }),
    untilStopped: () => new Promise(() => {}),
    untilHurried: () => new Promise(() => {}),
  });
  return ran;
}

async function startSshAgent(...keys: string[]): Promise<string> {
  const socket = join(temporaryFolder(), "agent");
  const agent = spawn("ssh-agent", ["-D", "-a", socket], { stdio: "ignore" });
  onTestFinished(async () => {
    agent.kill();
    if (agent.exitCode === null && agent.signalCode === null) await once(agent, "exit");
  });
  // Its socket is there a moment before it listens.
  const answers = async (): Promise<void> => {
    const asked = connect(socket);
    await once(asked, "connect");
    asked.destroy();
  };
  await vi.waitFor(answers, { timeout: 30_000 });
  for (const key of keys)
    execFileSync("ssh-add", ["-q", key], { env: { ...process.env, SSH_AUTH_SOCK: socket }, stdio: "ignore" });
  return socket;
}

describe("an OpenSSH key", () => {
  it("without a passphrase signs in, and again by itself", async () => {
    const line = await startCommandLine();
    const { path, publicKey } = makeKey("id");
    await letIn(line, publicKey);
    expect((await line.run("login", "--key", path)).stdout).toContain("as ada, Viewer");
    expect(await line.print("whoami")).toMatch(/^ada, Viewer/);
  });

  it.each(["aes256-ctr", "aes256-cbc"])("with a passphrase, in %s, asks for it", async (cipher) => {
    const line = await startCommandLine();
    const { path, publicKey } = makeKey("id", "pä55 phrase", "-a", "3", "-Z", cipher);
    await letIn(line, publicKey);
    const wrong = await runWith(line, { secrets: ["no"] }, "login", "--key", path);
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("the passphrase is wrong") });
    const none = await runWith(line, { secrets: [] }, "login", "--key", path);
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("Nobody told the passphrase") });
    const right = await runWith(line, { secrets: ["pä55 phrase"] }, "login", "--key", path);
    expect(right).toMatchObject({ code: 0, stdout: expect.stringContaining("as ada, Viewer") });
    expect(right.stderr).toContain(`Passphrase of ${path}: `);
    expect(
      JSON.stringify(right) + readFileSync(join(line.folder, "home/profile.json"), "utf8"),
    ).not.toContain("pä55");
    const alone = await runWith(line, {}, "login", "--key", path);
    expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining("give the key to ssh-agent") });
  });

  it("in another cipher, or as a PEM with a passphrase, is told before anybody is asked", async () => {
    const line = await startCommandLine();
    const { path } = makeKey("id", "words", "-a", "3", "-Z", "aes256-gcm@openssh.com");
    const gcm = await runWith(line, { secrets: ["words"] }, "login", "--key", path);
    expect(gcm).toMatchObject({ code: 1, stderr: expect.stringContaining("ssh-keygen -p -Z aes256-ctr") });
    expect(gcm.stderr).not.toContain("Passphrase");
    const pem = join(temporaryFolder(), "pem");
    const { privateKey } = generateKeyPairSync("ed25519");
    const sealed = { format: "pem", type: "pkcs8", cipher: "aes-256-cbc", passphrase: "words" } as const;
    writeFileSync(pem, privateKey.export(sealed));
    const { stderr } = await runWith(line, { secrets: ["words"] }, "login", "--key", pem);
    expect(stderr).toContain("is a PEM with a passphrase");
  });

  it("is let in by the line of its public half, and told to who signs in unknown", async () => {
    const line = await startCommandLine();
    const { path, publicKey } = makeKey("id");
    const unknown = await line.run("login", "--key", path);
    expect(unknown).toMatchObject({ code: 4, stderr: expect.stringContaining(publicKey) });
    await line.print("login", "--key", line.key);
    // The comment may end as a file's name does.
    const named = readFileSync(`${path}.pub`, "utf8").replace(/ [^ ]*\n$/, " ada@nas.pub");
    await line.print("operators", "add", "ada", named, "--role", "Viewer");
    expect(await line.print("login", "--key", path)).toContain("as ada, Viewer");
  });

  it.each([
    [
      "ssh-rsa AAAAB3NzaC1yc2E ada@laptop\n",
      /must be an Ed25519 key, and is ssh-rsa: `ssh-keygen -t ed25519`/,
    ],
    ["sk-ssh-ed25519@openssh.com AAAAGnNr ada", /must be an Ed25519 key, and is sk-ssh-ed25519@openssh\.com/],
    ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5", /cut off, or damaged/],
    ["id_ed25519.pub", /not the name of its file: "\$\(cat id_ed25519\.pub\)"/],
    ["-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb", /is a private key: give its public half/],
  ])("that can be none of an operator is told as what it is, and not sent: %j", async (typed, told) => {
    const line = await startCommandLine();
    await line.print("login", "--key", line.key);
    const added = await line.run("operators", "add", "ada", "--", typed);
    expect(added).toMatchObject({ code: 2, stderr: expect.stringMatching(told) });
  });

  it("that is damaged or gone holds up no session that lives", async () => {
    const line = await startCommandLine();
    const { path, publicKey } = makeKey("id");
    await letIn(line, publicKey);
    await line.print("login", "--key", path);
    writeFileSync(path, "nonsense");
    expect(await line.print("whoami")).toMatch(/^ada/);
    await line.server.orchestrator.operators.remove(systemCaller, {
      operator_id: (await line.server.orchestrator.operators.list(systemCaller)).items.find(
        ({ username }) => username === "ada",
      )!.operator_id,
    });
    expect(await line.run("whoami")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("holds no Ed25519 private key"),
    });
  });

  it("with a passphrase asks again after a wrong one, once for all who sign together, and no more once it is open", async () => {
    const { path } = makeKey("sealed", "right words");
    const answers = ["wrong", null, "right words"];
    const passphrase = vi.fn<() => Promise<string | null>>(() => Promise.resolve(answers.shift() ?? null));
    const signer = readSigner(path, { passphrase });
    await expect(Promise.all([signer.sign("a"), signer.sign("b")])).rejects.toThrow(
      "the passphrase is wrong",
    );
    await expect(signer.sign("a")).rejects.toThrow("Nobody told the passphrase");
    for (let times = 0; times < 2; times += 1) expect(await signer.sign("a")).toHaveLength(64);
    expect(passphrase).toHaveBeenCalledTimes(3);
  });

  it("that is damaged, of another kind, or of a costly passphrase is refused at once", () => {
    const { path } = makeKey("id");
    const whole = readFileSync(path, "utf8");
    const bytes = Buffer.from(whole.replaceAll(/-----.*-----|\n/g, ""), "base64");
    const asFile = (content: Buffer | string): string => {
      const file = join(temporaryFolder(), "key");
      const text = typeof content === "string" ? content : content.toString("base64");
      writeFileSync(
        file,
        typeof content === "string"
          ? text
          : `-----BEGIN OPENSSH PRIVATE KEY-----\n${text}\n-----END OPENSSH PRIVATE KEY-----\n`,
      );
      return file;
    };
    expect(readSigner(asFile(bytes)).publicKey).toHaveLength(64);
    let refused = 0;
    for (let length = 0; length < bytes.length; length += 7) {
      expect(() => readSigner(asFile(bytes.subarray(0, length)))).toThrow(/holds no Ed25519 private key/);
      refused += 1;
    }
    expect(refused).toBeGreaterThan(20);
    const rsa = join(temporaryFolder(), "rsa");
    execFileSync("ssh-keygen", ["-q", "-t", "ecdsa", "-N", "", "-f", rsa]);
    expect(() => readSigner(rsa)).toThrow(/holds no Ed25519 private key/);
    const sealed = makeKey("sealed", "x");
    expect(() => readSigner(sealed.path)).toThrow(/needs its passphrase/);
  });
});

describe("ssh-agent", () => {
  it("signs in with its only key, or the one of a public half, and the private one is never read", async () => {
    const line = await startCommandLine();
    const [mine, other] = [makeKey("id"), makeKey("other")];
    await letIn(line, mine.publicKey);
    const one = await startSshAgent(mine.path);
    const alone = await runWith(line, { SSH_AUTH_SOCK: one }, "login", "--key", "ssh-agent");
    expect(alone).toMatchObject({ code: 0, stdout: expect.stringContaining("as ada, Viewer") });
    expect(readFileSync(join(line.folder, "home/profile.json"), "utf8")).toContain(
      `ssh-agent:${mine.publicKey}`,
    );
    const two = await startSshAgent(mine.path, other.path);
    const either = await runWith(line, { SSH_AUTH_SOCK: two }, "login", "--key", "ssh-agent");
    expect(either).toMatchObject({ code: 2, stderr: expect.stringContaining("several Ed25519 keys") });
    const named = await runWith(line, { SSH_AUTH_SOCK: two }, "login", "--key", `${mine.path}.pub`);
    expect(named).toMatchObject({ code: 0, stdout: expect.stringContaining("as ada, Viewer") });
    const away = await runWith(line, {}, "whoami");
    expect(away).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ada/) });
    const again = await runWith(line, { SSH_AUTH_SOCK: two }, "login");
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("as ada, Viewer") });
    expect(statSync(join(line.folder, "home/profile.json")).mode & 0o777).toBe(0o600);
  });

  it("that is not there, holds nothing, or answers nonsense is told", async () => {
    const line = await startCommandLine();
    const login = ["login", "--key", "ssh-agent"];
    expect((await runWith(line, {}, ...login)).stderr).toContain("SSH_AUTH_SOCK is not set");
    const nowhere = await runWith(line, { SSH_AUTH_SOCK: join(line.folder, "none") }, ...login);
    expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining("No ssh-agent answers") });
    const empty = await runWith(line, { SSH_AUTH_SOCK: await startSshAgent() }, ...login);
    expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining("holds no Ed25519 key") });
    for (const nonsense of [
      "",
      "0000000105",
      "ffffffff",
      "000000050c00000009",
      "0000000d0c00000001ffffffff00000000",
    ]) {
      const path = join(temporaryFolder(), "s");
      const server = createServer((socket) =>
        socket
          .resume()
          .on("error", () => {})
          .end(Buffer.from(nonsense, "hex")),
      );
      await new Promise<void>((resolve) => server.listen(path, resolve));
      const told = await runWith(line, { SSH_AUTH_SOCK: path }, ...login);
      await new Promise((resolve) => server.close(resolve));
      expect([nonsense, told.code, told.stdout]).toEqual([nonsense, 1, ""]);
      expect(told.stderr).toContain("ssh-agent");
    }
  });
});
