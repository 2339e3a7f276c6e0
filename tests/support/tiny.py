"""The smallest scenario the scripts damage, set and run."""

TINY = """storlab: 1
title: Two drives
machines:
  box:
    is: dell-r750
    cpu: {is: xeon-8380}
    host: {is: linux-host}
    drives: {ssd: {is: bench-device-gc, count: 2, state: filled}}
arrays:
  pair: {raid: {level: 1, drives: ssd/*, chunk: 64KiB, engine: md}}
loads:
  users:
    fio: {rw: randrw, rwmixread: 70, bs: 4k, ioengine: libaio, direct: 1, iodepth: 8}
    to: pair
run: {until: duration, duration: 5ms, warm-up: 1ms, scale: 64}
"""
