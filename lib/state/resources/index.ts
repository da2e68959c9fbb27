/** Every type that ships with the package. Adding one: its file, one line here, its test, its page. */
import type { ResourceType, ResourceTypes } from "../resource-type.ts";
import { archiveResourceType } from "./archive.ts";
import { authorizedKeyResourceType } from "./authorized-key.ts";
import { blockResourceType } from "./block.ts";
import { cronResourceType } from "./cron.ts";
import { directoryResourceType } from "./directory.ts";
import { downloadResourceType } from "./download.ts";
import { fileResourceType } from "./file.ts";
import { gitResourceType } from "./git.ts";
import { groupResourceType } from "./group.ts";
import { hostEntryResourceType } from "./host-entry.ts";
import { hostnameResourceType } from "./hostname.ts";
import { lineResourceType } from "./line.ts";
import { mountResourceType } from "./mount.ts";
import { packageRepositoryResourceType } from "./package-repository.ts";
import { packageResourceType } from "./package.ts";
import { scriptResourceType } from "./script.ts";
import { serviceResourceType } from "./service.ts";
import { symlinkResourceType } from "./symlink.ts";
import { sysctlResourceType } from "./sysctl.ts";
import { systemdUnitResourceType } from "./systemd-unit.ts";
import { timezoneResourceType } from "./timezone.ts";
import { userResourceType } from "./user.ts";

const types: ResourceType[] = [
  archiveResourceType,
  authorizedKeyResourceType,
  blockResourceType,
  cronResourceType,
  directoryResourceType,
  downloadResourceType,
  fileResourceType,
  gitResourceType,
  groupResourceType,
  hostEntryResourceType,
  hostnameResourceType,
  lineResourceType,
  mountResourceType,
  packageResourceType,
  packageRepositoryResourceType,
  scriptResourceType,
  serviceResourceType,
  symlinkResourceType,
  sysctlResourceType,
  systemdUnitResourceType,
  timezoneResourceType,
  userResourceType,
];

/** The types by their name, in the order of the alphabet. */
export const resourceTypes: ResourceTypes = new Map(types.map((type) => [type.type, type]));
