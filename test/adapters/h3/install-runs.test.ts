/**
 * Runs of the script of `GET /install.sh` that are cut off, or meet another.
 *
 * Symptoms: a script that broke off right behind the name of its last command ran without its options, so that `--uninstall` installed;
 * two runs at a time took each other's files away; a token went into a file that others could read, or through a link.
 */
import { spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { agentUrl, orchestratorKey, renderedScript, scriptOf } from "../../support/install-script.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const run = (input: string, shell = "sh") => spawnSync(shell, [], { input, encoding: "utf8" });

describe("a script of which only a part arrived", () => {
  test.each(["dash", "bash"])("does nothing in %s, wherever it was cut", (shell) => {
    const script = renderedScript().replace("main() {", "main() {\n  echo ran\n  exit 7");
    expect(run(script, shell)).toMatchObject({ status: 7, stdout: "ran\n" });
    const lines = [...script.matchAll(/\n/g)].map(({ index }) => index + 1);
    const last = Array.from({ length: 120 }, (_, at) => script.length - 2 - at);
    const ran = [...new Set([...lines, ...last])]
      .filter((at) => at < script.length - 1)
      .filter((at) => run(script.slice(0, at), shell).stdout.includes("ran"));
    expect(ran).toEqual([]);
  });
});

describe.each(["dash", "busybox sh"])("a second run of %s", (shell) => {
  const locking = (does: string): { lock: string; script: string } => {
    const lock = join(temporaryFolder(), "lock");
    const script = `${lock}.sh`;
    writeFileSync(script, scriptOf(temporaryFolder(), does).replace(/^lock=.*$/m, `lock='${lock}'`));
    return { lock, script };
  };

  test("is refused while the first one runs", () => {
    const { lock, script } = locking("take_lock; echo taken");
    const { stdout, stderr } = run(`(flock 8; ${shell} '${script}' 8>&-; true) 8>'${lock}'`);
    expect(stdout).toBe("");
    expect(stderr).toContain(`another run of it is under way, which holds ${lock}.`);
  });

  test("goes on where the first one ended, or was killed", () => {
    const { script } = locking("take_lock; echo taken; kill -9 $$");
    expect(run(`${shell} '${script}'; ${shell} '${script}'`).stdout).toBe("taken\ntaken\n");
  });

  test("waits for its turn", () => {
    const { script } = locking("take_lock; echo begins; sleep 0.2; echo ends");
    const { stdout } = run(`for each in 1 2 3 4; do ${shell} '${script}' & done; wait`);
    expect(stdout).toMatch(/^(?:begins\nends\n){2,4}$/);
  });
});

describe("a token", () => {
  const configured = (prepare: (token: string) => void): string => {
    const etc = join(temporaryFolder(), "etc");
    mkdirSync(etc);
    prepare(join(etc, "token"));
    expect(run(scriptOf(etc, "token=fwt_new ca=; configure")).status).toBe(0);
    return join(etc, "token");
  };

  test("that takes the place of one which others could read is for root alone", () => {
    const token = configured((path) => writeFileSync(path, "fwt_old\n", { mode: 0o644 }));
    expect(readFileSync(token, "utf8")).toBe("fwt_new\n");
    expect(statSync(token).mode & 0o777).toBe(0o600);
  });

  test("goes through no link, neither of its file nor of the one that it is written to first", () => {
    const others = join(temporaryFolder(), "others");
    writeFileSync(others, "theirs\n", { mode: 0o644 });
    const token = configured((path) => {
      symlinkSync(others, path);
      symlinkSync(others, `${path}.new`);
    });
    expect(lstatSync(token).isFile()).toBe(true);
    expect(readFileSync(others, "utf8")).toBe("theirs\n");
  });
});

test.each(["wss://fleet.example", "wss://fleet.example/", agentUrl, "wss://fleet.example/of/agents"])(
  "an agent of the server at %s is the same one at the next run",
  (url) => {
    const etc = join(temporaryFolder(), "etc");
    const again = () => run(scriptOf(etc, "token= ca=; configure", url));
    expect(again()).toMatchObject({ status: 0, stdout: "", stderr: "" });
    expect(readFileSync(join(etc, "agent.conf"), "utf8")).toContain(`orchestrator_key = ${orchestratorKey}`);
    expect(again()).toMatchObject({ status: 0, stdout: "", stderr: "" });
  },
);
