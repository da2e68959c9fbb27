#!/bin/sh
# Boots copies of this machine in namespaces, one after another: `unshare --mount sh throwaway-machine.sh FOLDER`.
#
# FOLDER is an empty folder; SOURCE is the repository and MODULES its node_modules, which the copy sees below /opt.
# INIT is `systemd`, `openrc`, `reaper` or `none`; PACKAGES is a folder of Debian packages that are installed in the copy first.
# NETWORK is `own` (loopback alone) or `shared`. The copy is written to memory, so nothing of it outlives this process.
#
# Writes a line with the process id of each copy's process 1. A line on standard input is the reset button; its end ends all.
set -eu

# The copy as seen from inside: kernel settings that are everybody's can't be written, and there are no devices but these.
furnish() {
  cd "$1/root"
  mount -t proc proc proc
  mount --bind proc/sys proc/sys
  mount -o remount,bind,ro proc/sys
  mount -t sysfs -o ro sysfs sys
  mount -t cgroup2 cgroup2 sys/fs/cgroup
  for empty in run tmp dev work; do mkdir -p "$empty"; mount -t tmpfs -o mode=0755 tmpfs "$empty"; done
  chmod 1777 tmp
  for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
  done
  mkdir dev/pts dev/shm
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
  mount -t tmpfs -o mode=1777 tmpfs dev/shm
  ln -s pts/ptmx dev/ptmx
  ln -s /proc/self/fd dev/fd
}

# What this machine starts by itself does not start in the copy. It is made at the first boot alone.
install() {
  [ ! -e made ] || return 0
  touch made
  rm -rf root/etc/systemd/system/*.wants/* root/etc/rc?.d/*
  tr -d - < /proc/sys/kernel/random/uuid > root/etc/machine-id
  if [ -n "$PACKAGES" ]; then
    mkdir -p root/opt/packages
    cp "$PACKAGES"/*.deb root/opt/packages/
    DEBIAN_FRONTEND=noninteractive chroot root sh -c 'dpkg --install /opt/packages/*.deb' >&2
    rm -rf root/etc/runlevels/*/*
  fi
}

inside() {
  # /proc is still that of the world outside.
  read -r process _ < /proc/self/stat
  hostname throwaway
  furnish "$1"
  (cd "$1" && install)
  mkdir run/outside
  pivot_root . run/outside
  cd /
  umount -l /run/outside
  rmdir /run/outside
  echo "$process"
  set -- sleep infinity
  [ "$INIT" != reaper ] || set -- sh -c 'while :; do sleep 0.2; done'
  [ "$INIT" != systemd ] || set -- /lib/systemd/systemd --system --unit=multi-user.target
  [ "$INIT" != openrc ] || set -- /sbin/openrc-init
  # Modules of the kernel and its clock are everybody's too.
  set -- setpriv --bounding-set=-sys_module,-sys_time "$@"
  exec env -i container=throwaway PATH=/usr/sbin:/usr/bin:/sbin:/bin SYSTEMD_LOG_TARGET=console "$@" >&2
}

boot() {
  mkdir -p "$group"
  (
    # The copy takes this group for the root of all groups.
    echo 0 > "$group/cgroup.procs"
    [ "$NETWORK" = shared ] || set -- --net
    exec unshare --mount --uts --ipc --pid --cgroup "$@" --fork --kill-child sh "$program" --inside "$folder"
  ) < /dev/null &
  machine=$!
}

end() {
  kill -9 "$machine" 2> /dev/null || true
  wait "$machine" 2> /dev/null || true
  # A group can be removed when the last of its processes is gone.
  while [ -d "$group" ] && ! find "$group" -depth -type d -exec rmdir {} + 2> /dev/null; do sleep 0.05; done
}

program=$0
if [ "$1" = --inside ]; then inside "$2"; fi

folder=$1
mount -t tmpfs -o mode=0755 tmpfs "$folder"
cd "$folder"
mkdir upper work root groups
mount -t overlay -o "lowerdir=/,upperdir=upper,workdir=work" overlay root
mkdir -p root/opt/fleetwright root/opt/node_modules
mount --bind "$SOURCE" root/opt/fleetwright
mount --bind "$MODULES" root/opt/node_modules
for shared in fleetwright node_modules; do mount -o remount,bind,ro "root/opt/$shared"; done
mount -t cgroup2 cgroup2 groups
group=$folder/groups/fleetwright-$$

boot
while read -r _; do end; boot; done
end
cd /
umount --lazy "$folder"
rmdir "$folder"
