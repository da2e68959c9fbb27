/** Every type that ships with the package. Adding one: its file, one line here, its test, its page. */
import type { ResourceType, ResourceTypes } from "../resource-type.ts";
import { cronResourceType } from "./cron.ts";
import { directoryResourceType } from "./directory.ts";
import { fileResourceType } from "./file.ts";
import { hostnameResourceType } from "./hostname.ts";
import { lineResourceType } from "./line.ts";
import { packageRepositoryResourceType } from "./package-repository.ts";
import { packageResourceType } from "./package.ts";
import { scriptResourceType } from "./script.ts";
import { serviceResourceType } from "./service.ts";
import { symlinkResourceType } from "./symlink.ts";
import { systemdUnitResourceType } from "./systemd-unit.ts";
import { timezoneResourceType } from "./timezone.ts";

const types: ResourceType[] = [
  cronResourceType,
  directoryResourceType,
  fileResourceType,
  hostnameResourceType,
  lineResourceType,
  packageResourceType,
  packageRepositoryResourceType,
  scriptResourceType,
  serviceResourceType,
  symlinkResourceType,
  systemdUnitResourceType,
  timezoneResourceType,
];

/** The types by their name, in the order of the alphabet. */
export const resourceTypes: ResourceTypes = new Map(types.map((type) => [type.type, type]));
