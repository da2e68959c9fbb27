/** Folders that a machine can't do without: nothing in here is ever removed as a whole because of one declaration. */
const systemFolders = new Set(
  (
    "/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /media /mnt /opt /proc /root /run /sbin /srv /sys /tmp /usr " +
    "/usr/bin /usr/include /usr/lib /usr/lib32 /usr/lib64 /usr/libexec /usr/local /usr/local/bin /usr/local/lib " +
    "/usr/local/sbin /usr/sbin /usr/share /var /var/cache /var/lib /var/log /var/run /var/spool /var/tmp " +
    "/Applications /Library /System /Users /Volumes /private /private/etc /private/tmp /private/var"
  ).split(" "),
);

/** Folders of the kernel, at any depth. */
const kernelFolders = /^\/(?:dev|proc|sys)\//;

/** Whether a folder belongs to the system as such. */
export function isSystemFolder(path: string): boolean {
  return systemFolders.has(path) || kernelFolders.test(path);
}
