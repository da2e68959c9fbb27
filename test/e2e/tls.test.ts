/** A real server under TLS in each way that docs/tls.md tells of: the command line signs in, an agent joins and is applied to, events come. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { repository } from "../architecture/source-tree.ts";
import { createCertificate } from "../support/certificate.ts";
import { freePort } from "../support/free-port.ts";
import { eventually, Program } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const proxies = {
  nginx: { path: "/usr/sbin/nginx", block: "nginx", prepare: prepareNginx },
  Caddy: { path: "caddy", block: "caddyfile", prepare: prepareCaddy },
} as const;

const isThere = (path: string): boolean => spawnSync(path, ["-v"], { stdio: "ignore" }).error === undefined;

const used = { motd: "hello", event: "operation.finished" };

interface Place {
  folder: string;
  port: number;
  serverPort: number;
  /** The block of docs/tls.md. */
  text: string;
}

/**
 * What everybody does who has a server: `url` is where it is reached, `caFile` what they trust. Resolves with what the agent wrote and the
 * stream of events told.
 */
async function useServer({
  url,
  caFile,
  dataDir,
}: {
  url: string;
  caFile: string;
  dataDir: string;
}): Promise<{ motd: string; event: string | undefined }> {
  const folder = temporaryFolder();
  const environment = { HOME: join(folder, "home"), FLEETWRIGHT_URL: url, NODE_EXTRA_CA_CERTS: caFile };
  const run = async (args: string[], variables: Record<string, string> = environment) => {
    await using program = new Program(args, variables);
    const code = await program.exited();
    return { code, stdout: program.stdout, stderr: program.stderr };
  };
  const print = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(args);
    if (code !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
    return stdout;
  };
  const login = ["login", "--key", join(dataDir, "admin-key")];
  const distrusting = await run(login, { HOME: environment.HOME, FLEETWRIGHT_URL: url });
  expect(distrusting).toMatchObject({ code: 1, stderr: expect.stringContaining("is not trusted here") });
  await print(...login);

  const root = join(folder, "root");
  mkdirSync(join(root, "etc"), { recursive: true });
  const places = ["--root", root, "--state-dir", join(folder, "state"), "--log-level", "silent"];
  await using agent = new Program(["agent", "--url", url, "--ca-file", caFile, ...places]);
  const [, nodeId = ""] = await agent.says(/^Node +(\w+)\n/m);
  await eventually("the agent waits", async () =>
    (await print("agents", "list", "-o", "name")).includes(nodeId),
  );
  await print("agents", "approve", nodeId, "--name", "web-1");

  const profile = readFileSync(join(environment.HOME, ".config/fleetwright/profile.json"), "utf8");
  const { token } = JSON.parse(profile) as { token: string };
  const headers = { authorization: `Bearer ${token}` };
  const ca = readFileSync(caFile, "utf8");
  const call = request(`${url}/api/v1/events`, { ca, headers, agent: false }).end();
  const [response] = (await once(call, "response")) as [NodeJS.ReadableStream & { statusCode: number }];
  expect(response.statusCode).toBe(200);
  let seen = "";
  response.setEncoding("utf8").on("data", (piece: string) => (seen += piece));

  const file = join(folder, "motd.yml");
  writeFileSync(file, 'name: motd\nresources:\n  - { type: file, path: /etc/motd, content: "hello" }\n');
  await print("modules", "upload", file);
  await print("apply", "web-1", "--module", "motd", "--yes");
  // Without waiting for the end of the stream, which a proxy that collects would.
  const event = /operation\.finished/;
  await eventually("the event of the apply came", () => event.test(seen));
  call.destroy();
  return { motd: readFileSync(join(root, "etc/motd"), "utf8"), event: event.exec(seen)?.[0] };
}

async function startServer(flags: string[]): Promise<{ program: Program; dataDir: string; url: string }> {
  const dataDir = join(temporaryFolder(), "data");
  const program = new Program([
    "serve",
    "--port",
    "0",
    "--data-dir",
    dataDir,
    "--log-level",
    "warn",
    ...flags,
  ]);
  const [, url = ""] = await program.says(/^URL +(\S+)\n[^]*^Next .*\n/m);
  return { program, dataDir, url };
}

it("with a certificate of its own", { timeout: 120_000 }, async () => {
  const { program, dataDir, url } = await startServer(["--tls", "self-signed"]);
  await using _ = program;
  expect(await useServer({ url, caFile: join(dataDir, "tls/ca.pem"), dataDir })).toEqual(used);
});

it("with files, read again while it runs", { timeout: 120_000 }, async () => {
  const folder = temporaryFolder();
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const first = await createCertificate();
  writeFileSync(cert, first.cert);
  writeFileSync(key, first.key);
  const { program, dataDir, url } = await startServer(["--tls-cert-file", cert, "--tls-key-file", key]);
  await using _ = program;
  expect(await useServer({ url, caFile: cert, dataDir })).toEqual(used);
  const second = await createCertificate();
  writeFileSync(cert, second.cert);
  writeFileSync(key, second.key);
  const statusFor = (ca: string): Promise<number | string> =>
    new Promise((resolve) => {
      const call = request(`${url}/livez`, { ca, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      call.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "")).end();
    });
  expect(await statusFor(first.cert)).toBe(200);
  await eventually("the new certificate is shown", async () => (await statusFor(second.cert)) === 200);
  expect(await statusFor(first.cert)).toMatch(/SELF_SIGNED|UNABLE_TO_VERIFY/);
});

describe.each(Object.entries(proxies))("behind %s, as documented", (name, { path, block, prepare }) => {
  const canRun = isThere(path);
  if (!canRun) console.warn(`Skipped: a server behind ${name}, which is not installed.`);

  it.skipIf(!canRun)("everything works", { timeout: 120_000 }, async () => {
    const { program, dataDir, url } = await startServer([
      "--trusted-proxies",
      "127.0.0.1",
      "--allowed-hosts",
      "localhost",
    ]);
    await using _ = program;
    const folder = temporaryFolder();
    const { cert, key } = await createCertificate("DNS:localhost");
    const caFile = join(folder, "fullchain.pem");
    writeFileSync(caFile, cert);
    writeFileSync(join(folder, "privkey.pem"), key);
    const text =
      new RegExp(`\`\`\`${block}\n([^]*?)\`\`\``).exec(
        readFileSync(join(repository, "docs/tls.md"), "utf8"),
      )?.[1] ?? "";
    const port = await freePort();
    const [command, ...args] = prepare({ folder, port, serverPort: Number(new URL(url).port), text });
    const proxy = spawn(command!, args, {
      env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      stdio: "ignore",
    });
    const ended = once(proxy, "exit");
    try {
      const up = (): Promise<boolean> =>
        new Promise((resolve) => {
          const call = request(
            { port, host: "localhost", path: "/livez", ca: cert, agent: false },
            (response) => {
              response.resume();
              resolve(response.statusCode === 200);
            },
          );
          call.on("error", () => resolve(false)).end();
        });
      await eventually("the proxy answers", up);
      expect(await useServer({ url: `https://localhost:${port}`, caFile, dataDir })).toEqual(used);
    } finally {
      // In order, Caddy would wait for whoever is connected.
      proxy.kill("SIGKILL");
      await ended;
    }
  });
});

function prepareNginx({ folder, port, serverPort, text }: Place): string[] {
  const path = join(folder, "nginx.conf");
  const site = text
    .replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
    .replace("fleet.example", "localhost")
    .replaceAll("/etc/ssl/fleet/", `${folder}/`)
    .replace("127.0.0.1:4748", `127.0.0.1:${serverPort}`);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
    .join("\n");
  writeFileSync(
    path,
    `daemon off;\nmaster_process off;\npid ${folder}/nginx.pid;\nerror_log ${folder}/error.log;\n` +
      `events {}\nhttp {\naccess_log off;\n${temporary}\n${site}\n}\n`,
  );
  return [proxies.nginx.path, "-c", path, "-p", folder, "-e", join(folder, "error.log")];
}

function prepareCaddy({ folder, port, serverPort, text }: Place): string[] {
  const path = join(folder, "Caddyfile");
  const site = text
    .replace(
      "fleet.example {",
      `https://localhost:${port} {\n  bind 127.0.0.1\n  tls ${folder}/fullchain.pem ${folder}/privkey.pem`,
    )
    .replace("127.0.0.1:4748", `127.0.0.1:${serverPort}`);
  writeFileSync(path, `{\n  admin off\n  auto_https disable_redirects\n}\n${site}`);
  return [proxies.Caddy.path, "run", "--config", path, "--adapter", "caddyfile"];
}
