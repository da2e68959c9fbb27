/** The certificate that a server makes for itself: by what clients make of it, over time, and over damaged files. */
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { expect, test } from "vitest";
import { createAuthority, toSerialNumber } from "../../../../adapters/cli/work/tls/authority.ts";
import { OwnCertificate } from "../../../../adapters/cli/work/tls/own-certificate.ts";
import { createApp } from "../../../../adapters/h3/app.ts";
import { listenApp } from "../../../../adapters/h3/serve.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";
import { Toy, toyContexts, toyRouter } from "../../toy.ts";

const dayMs = 86_400_000;

function scene(nowMs = Date.now()) {
  const dataDir = temporaryFolder();
  const time = { nowMs };
  const names = ["fleet.example"];
  const make = (more: string[] = []): OwnCertificate =>
    new OwnCertificate({
      dataDir,
      host: "127.0.0.1",
      names: [...names, ...more],
      now: () => time.nowMs,
    });
  return { folder: join(dataDir, "tls"), time, make, own: make() };
}

/** Status of a request to a server with this certificate, by a client that trusts this authority. */
async function ask(own: OwnCertificate, servername: string, trusted = "ca.pem"): Promise<number | undefined> {
  const toy = new Toy();
  const app = createApp({ router: toyRouter, createContext: toyContexts(toy), isReady: () => true });
  await using server = await listenApp(app, { port: 0, tls: await own.read() });
  const ca = readFileSync(join(dirname(own.authorityFile), trusted), "utf8");
  const call = request(`https://127.0.0.1:${server.port}/livez`, { ca, agent: false, servername }).end();
  const [response] = (await once(call, "response")) as [{ statusCode?: number; resume(): void }];
  response.resume();
  return response.statusCode;
}

test("is taken by who trusts its authority, under each name of the machine and no other", async () => {
  const { own } = scene();
  for (const name of ["fleet.example", hostname(), "localhost"]) expect(await ask(own, name), name).toBe(200);
  await expect(ask(own, "other.example")).rejects.toMatchObject({ code: "ERR_TLS_CERT_ALTNAME_INVALID" });
});

test("is good a day before it is made, for clocks that are behind, and so is its authority", async () => {
  const nowMs = Date.parse("2030-03-01T12:00:00Z");
  const { own, folder } = scene(nowMs);
  const { cert } = await own.read();
  for (const [text, days] of [
    [cert, 90],
    [readFileSync(join(folder, "ca.pem"), "utf8"), 3_650],
  ] as const) {
    const { validFrom, validTo } = new X509Certificate(text);
    expect([Date.parse(validFrom), Date.parse(validTo)]).toEqual([nowMs - dayMs, nowMs + days * dayMs]);
  }
});

test("is kept in private files, and is the same at the next start", async () => {
  const { own, make, folder } = scene();
  const first = await own.read();
  expect(await own.read()).toEqual(first);
  expect(await make().read()).toEqual(first);
  expect(readdirSync(folder).toSorted()).toEqual(["authority.pem", "ca.pem", "server.pem"]);
  for (const name of ["authority.pem", "server.pem"])
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  expect(readFileSync(own.authorityFile, "utf8")).not.toContain("PRIVATE");
});

test("is made anew when 30 days are left, of the same authority", async () => {
  const { own, time } = scene();
  const first = await own.read();
  const authority = readFileSync(own.authorityFile, "utf8");
  time.nowMs += 60 * dayMs - 60_000;
  expect(await own.read()).toEqual(first);
  time.nowMs += 120_000;
  const second = await own.read();
  expect(second.key).not.toBe(first.key);
  expect(Date.parse(new X509Certificate(second.cert).validTo)).toBeGreaterThan(time.nowMs + 89 * dayMs);
  expect(readFileSync(own.authorityFile, "utf8")).toBe(authority);
  expect(await own.read()).toEqual(second);
});

test("is made anew where the machine has another name, and where its clock went back before it", async () => {
  const { own, make, time } = scene();
  const first = await own.read();
  const second = await make(["new.example"]).read();
  expect(new X509Certificate(second.cert).checkHost("new.example")).toBe("new.example");
  expect(second).not.toEqual(first);
  time.nowMs -= 30 * dayMs;
  const third = await make(["new.example"]).read();
  expect(Date.parse(new X509Certificate(third.cert).validFrom)).toBeLessThan(time.nowMs);
});

/** One in 512 began with so many zeros that it could not be read: "authority.pem is damaged" at the first start. */
test("has a serial number that reads as one whatever was drawn", () => {
  for (const first of [0x00, 0x01, 0x3f, 0x40, 0x7f, 0x80, 0xff])
    for (const second of [0x00, 0x7f, 0x80, 0xff]) {
      const serial = toSerialNumber(Uint8Array.of(first, second, ...Array<number>(14).fill(0)));
      expect(serial).toMatch(/^[4-7][0-9a-f]{31}$/);
      expect(serial.slice(2, 4)).toBe(second.toString(16).padStart(2, "0"));
    }
});

/** Names with an underscore were left out; an address that is written in another way was looked for in vain at every look. */
test.each([
  ["web_1", ["web_1"]],
  ["_web.fleet_1.example", ["_web.fleet_1.example"]],
  ["::ffff:192.0.2.7", ["192.0.2.7", "::ffff:c000:207"]],
  ["::FFFF:c000:0207", ["192.0.2.7", "::ffff:c000:207"]],
  ["64:ff9b::192.0.2.7", ["64:ff9b::c000:207"]],
  ["2001:DB8:0:0::1", ["2001:db8::1"]],
  ["2001:db8::", ["2001:db8::"]],
])("has the name %s in the form that is looked for, and is not made again for it", async (name, found) => {
  const { make } = scene();
  const first = await make([name]).read();
  const made = new X509Certificate(first.cert);
  for (const each of found)
    expect(isIP(each) === 0 ? made.checkHost(each) : made.checkIP(each), each).toBe(each);
  for (const each of found)
    expect(checkServerIdentity(each, made.toLegacyObject() as PeerCertificate), each).toBeUndefined();
  expect(await make([name]).read()).toEqual(first);
});

test("leaves out what no certificate can name, such as an address of one link", async () => {
  const { make } = scene();
  const first = await make(["fe80::1%lo", "a b", "*.example"]).read();
  expect(new X509Certificate(first.cert).subjectAltName).not.toMatch(/fe80::1|a b|\*/);
  expect(await make(["fe80::1%lo"]).read()).toEqual(first);
});

test("of one authority is taken by who trusts that and the next one, as docs/tls.md has it", async () => {
  const { own } = scene();
  const next = await createAuthority("Next", Date.now());
  await own.read();
  writeFileSync(
    join(dirname(own.authorityFile), "both.pem"),
    readFileSync(own.authorityFile, "utf8") + next.cert,
  );
  expect(await ask(own, "localhost", "both.pem")).toBe(200);
  writeFileSync(join(dirname(own.authorityFile), "authority.pem"), next.key + next.cert);
  expect(await ask(own, "localhost", "both.pem")).toBe(200);
});

test("is good no longer than its authority, and is not made again and again at its end", async () => {
  const { own, time } = scene();
  await own.read();
  const end = Date.parse(new X509Certificate(readFileSync(own.authorityFile)).validTo);
  time.nowMs = end - 10 * dayMs;
  const last = await own.read();
  expect(Date.parse(new X509Certificate(last.cert).validTo)).toBe(end);
  expect(await own.read()).toEqual(last);
});

test("is made anew where it is of another authority, as after somebody removed that", async () => {
  const { own, folder } = scene();
  const first = await own.read();
  rmSync(join(folder, "authority.pem"));
  const second = await own.read();
  expect(second).not.toEqual(first);
  const ca = new X509Certificate(readFileSync(own.authorityFile));
  expect(new X509Certificate(second.cert).verify(ca.publicKey)).toBe(true);
});

test("tells of a damaged authority by its name, and changes nothing", async () => {
  const { own, folder } = scene();
  await own.read();
  const path = join(folder, "authority.pem");
  for (const damage of ["", "nonsense", readFileSync(path, "utf8").slice(0, -300)]) {
    writeFileSync(path, damage);
    await expect(own.read()).rejects.toMatchObject({
      code: "CONFIGURATION_INVALID",
      message: expect.stringContaining(path),
    });
    expect(readFileSync(path, "utf8")).toBe(damage);
  }
});

test("is made anew where its file is damaged, of the same authority", async () => {
  const { own, folder } = scene();
  const path = join(folder, "server.pem");
  await own.read();
  const ca = new X509Certificate(readFileSync(own.authorityFile));
  for (const damage of ["", "nonsense", readFileSync(path, "utf8").slice(0, -300)]) {
    writeFileSync(path, damage);
    const { cert } = await own.read();
    expect(new X509Certificate(cert).verify(ca.publicKey)).toBe(true);
    expect(readFileSync(path, "utf8")).toContain(cert);
  }
});

test("has the public part of its authority again where somebody removed or changed that", async () => {
  const { own } = scene();
  await own.read();
  const before = readFileSync(own.authorityFile, "utf8");
  rmSync(own.authorityFile);
  await own.read();
  expect(readFileSync(own.authorityFile, "utf8")).toBe(before);
  writeFileSync(own.authorityFile, (await createAuthority("Other", Date.now())).cert);
  await own.read();
  expect(readFileSync(own.authorityFile, "utf8")).toBe(before);
});

test("goes on where a start was killed while it wrote", async () => {
  const { own, folder } = scene();
  const first = await own.read();
  writeFileSync(join(folder, "server.pem.part"), "half");
  writeFileSync(join(folder, "authority.pem.part"), "half");
  rmSync(join(folder, "server.pem"));
  expect((await own.read()).key).not.toBe(first.key);
  expect(readdirSync(folder)).not.toContain("server.pem.part");
});
