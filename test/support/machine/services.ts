/** The init systems on machines in memory, with services that can be looked into. */
import type { HostCommandResult } from "../../../lib/host/host.ts";
import { MemoryHost, type MemoryProgram } from "../../../lib/host/memory-host.ts";
import { lawFolder } from "../../../lib/testing/resource-laws.ts";

/** A service of the model. */
export interface ModelService {
  running: boolean;
  enabled: boolean;
  masked: boolean;
  /** Whether its file is newer than what systemd has read. */
  stale: boolean;
  /** Has no [Install] section. */
  fixed: boolean;
}

/** A machine with one init system. */
export class ServiceMachine {
  readonly services = new Map<string, ModelService>();
  /** The verbs that were carried out, each with its service. */
  readonly commands: string[] = [];
  readonly host: MemoryHost;

  constructor(init: "systemd" | "sysvinit" | "openrc") {
    const programs = { systemd: this.#systemd(), sysvinit: this.#sysvinit(), openrc: this.#openrc() }[init];
    this.host = new MemoryHost({ programs });
    const folders = {
      systemd: ["/run", "/run/systemd", "/run/systemd/system"],
      sysvinit: ["/etc", "/etc/init.d", "/etc/rc2.d", "/etc/rc3.d"],
      openrc: ["/etc", "/etc/init.d", "/etc/runlevels", "/etc/runlevels/default", "/run", "/run/openrc"],
    }[init];
    for (const path of [lawFolder, ...folders]) this.host.files.makeDirectory(path, {});
  }

  add(name: string, more: Partial<ModelService> = {}): ModelService {
    const service = { running: false, enabled: false, masked: false, stale: false, fixed: false, ...more };
    this.services.set(name, service);
    if (this.host.files.stat("/etc/init.d"))
      this.host.files.writeFile(`/etc/init.d/${name}`, new Uint8Array(), { mode: 0o755 });
    return service;
  }

  #do(verb: string, name: string): Partial<HostCommandResult> {
    this.commands.push(`${verb} ${name}`);
    const service = this.services.get(name);
    if (!service)
      return { exitCode: 5, stderr: `Failed to ${verb} ${name}.service: Unit ${name}.service not found.\n` };
    if (verb === "start" && service.masked)
      return { exitCode: 1, stderr: `Unit ${name}.service is masked.\n` };
    if (verb === "start" || verb === "restart") service.running = true;
    else if (verb === "stop") service.running = false;
    else if (verb === "enable" || verb === "disable") service.enabled = verb === "enable";
    else if (verb === "mask" || verb === "unmask") service.masked = verb === "mask";
    return {};
  }

  #systemd(): Record<string, MemoryProgram> {
    const show = (name: string): string => {
      const service = this.services.get(name);
      if (!service) return "LoadState=not-found\nActiveState=inactive\nUnitFileState=\nNeedDaemonReload=no\n";
      const { running, enabled, masked, stale, fixed } = service;
      const file = masked ? "masked" : fixed ? "static" : enabled ? "enabled" : "disabled";
      return [
        `LoadState=${masked ? "masked" : "loaded"}`,
        `ActiveState=${running ? "active" : "inactive"}`,
        `UnitFileState=${file}`,
        `NeedDaemonReload=${stale ? "yes" : "no"}`,
        "",
      ].join("\n");
    };
    return {
      systemctl: ({ argv }) => {
        const [, verb = ""] = argv;
        const name = (argv.at(-1) ?? "").replace(/\.service$/, "");
        if (verb === "show") return { stdout: show(name) };
        if (verb !== "daemon-reload") return this.#do(verb, name);
        this.commands.push("daemon-reload");
        for (const service of this.services.values()) service.stale = false;
        return {};
      },
    };
  }

  #sysvinit(): Record<string, MemoryProgram> {
    return {
      service: ({ argv: [, name = "", verb = ""] }) => {
        if (verb === "status") return { exitCode: this.services.get(name)?.running ? 0 : 3 };
        return this.#do(verb, name);
      },
      "update-rc.d": ({ argv: [, name = "", verb = ""] }) => {
        const { files } = this.host;
        const [here, there] = verb === "disable" ? ["S", "K"] : ["K", "S"];
        for (const level of ["/etc/rc2.d", "/etc/rc3.d"]) {
          if (verb === "defaults") {
            const stands = files.list(level).some((link) => link.endsWith(name));
            if (!stands) files.makeSymlink(`${level}/S01${name}`, `../init.d/${name}`);
          } else if (files.stat(`${level}/${here}01${name}`)) {
            files.removeFile(`${level}/${here}01${name}`);
            files.makeSymlink(`${level}/${there}01${name}`, `../init.d/${name}`);
          }
        }
        return verb === "defaults" ? {} : this.#do(verb, name);
      },
    };
  }

  #openrc(): Record<string, MemoryProgram> {
    return {
      "rc-service": ({ argv: [, , name = "", verb = ""] }) => {
        if (verb === "status") return { exitCode: this.services.get(name)?.running ? 0 : 3 };
        return this.#do(verb, name);
      },
      "rc-update": ({ argv: [, verb = "", name = "", ...levels] }) => {
        const { files } = this.host;
        for (const level of levels) {
          const path = `/etc/runlevels/${level}/${name}`;
          if (verb === "add") files.makeSymlink(path, `/etc/init.d/${name}`);
          else files.removeFile(path);
        }
        return this.#do(verb === "add" ? "enable" : "disable", name);
      },
    };
  }
}
