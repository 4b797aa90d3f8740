#!/usr/bin/env python3
"""Generate src/api/types/*.rs and src/api/scheme/table.rs from data/schema-1.37.json and data/discovery-1.37.json.

    python3 src/api/generate.py            write the files
    python3 src/api/generate.py --check    exit 1 if the committed files are not what this would write

A type is "typed" (a Rust struct) or "dynamic" (only a descriptor, held as dynamic::DynamicObject). Typed are all
types that the simulator's code touches; DYNAMIC below names the rest. Move a type by changing DYNAMIC.
"""
import json, os, re, sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
SCHEMA = json.load(open(os.path.join(ROOT, 'data/schema-1.37.json')))
DISCOVERY = json.load(open(os.path.join(ROOT, 'data/discovery-1.37.json')))

KEYWORDS = set('''as break const continue crate dyn else enum extern false fn for if impl in let loop match mod move
mut pub ref return self Self static struct super trait true type unsafe use where while async await abstract become box
do final macro override priv typeof unsized virtual yield try gen'''.split())

DYNAMIC_GROUPS = {'admissionregistration_v1', 'certificates_v1', 'flowcontrol_v1', 'storagemigration_v1',
                  'apiextensions_v1', 'apiregistration_v1', 'scheduling_v1alpha3', 'version'}
DYNAMIC_TYPES = re.compile(
    r'core_v1::((Pod|Node|Service)(Exec|Attach|PortForward|Proxy)Options|AWS|Azure|Ceph|Cinder|FC|Flex|Flocker|GCE|GitRepo|Gluster|ISCSI|Photon|Portworx|Quobyte|RBD|ScaleIO|'
    r'StorageOS|Vsphere|ClusterTrust|PodCertificateProj|ComponentS|ComponentC|ConfigMapNodeConfig|NodeConfig|'
    r'PodVolumeHealth|SELinux|WindowsSec|AppArmor)|meta_v1::API(GroupList|Versions)|'
    r'resource_v1::(\w+List$|NodeAllocatable|DeviceDerived|NetworkDevice|Opaque)')
# Struct fields of these names are shared between versions of an object.
SHARED = {'spec', 'status', 'template', 'jobTemplate'}


def module(name):
    """io.k8s.api.core.v1.Pod -> core_v1"""
    p = name.split('.')
    if name.startswith('io.k8s.api.'):
        return f'{p[3]}_{p[4]}'
    if name.startswith('io.k8s.apimachinery.pkg.apis.'):
        return f'{p[5]}_{p[6]}'
    if name.startswith('io.k8s.apimachinery.pkg.version.'):
        return 'version'
    if name.startswith('io.k8s.apiextensions'):
        return 'apiextensions_v1'
    if name.startswith('io.k8s.kube-aggregator'):
        return 'apiregistration_v1'
    raise SystemExit(f'no module for {name}')


def snake(s):
    """podIPs -> pod_ips, hostIP -> host_ip, type -> type_"""
    s = s.replace('$', '').replace('-', '_')
    s = re.sub(r'([A-Z]{2,})s(?=$|[A-Z])', lambda m: m.group(1).title() + 's', s)
    s = re.sub(r'([a-z0-9])([A-Z])', r'\1_\2', s)
    s = re.sub(r'([A-Z]+)([A-Z][a-z])', r'\1_\2', s).lower()
    s = re.sub(r'(_[a-z]+)_s$', r'\1s', s)
    return s + '_' if s in KEYWORDS else s


def short(name):
    return name.split('.')[-1]


def static(name):
    """io.k8s.api.core.v1.PodSpec -> core_v1::POD_SPEC"""
    return f'{module(name)}::{snake(short(name)).rstrip("_").upper()}'


def is_struct(ref):
    return 'fields' in SCHEMA.get(ref, {}) or SCHEMA.get(ref, {}).get('type') == 'object' and 'scheduling.v1alpha3' in ref \
        or short(ref) == 'CustomResourceSubresourceStatus'


def is_dynamic(name):
    m = module(name)
    return m in DYNAMIC_GROUPS or bool(DYNAMIC_TYPES.match(f'{m}::{short(name)}'))


def struct_of(f):
    if 'ref' in f:
        return f['ref'] if is_struct(f['ref']) else None
    return struct_of(f['array']) if 'array' in f else struct_of(f['map']) if 'map' in f else None


VALUES = {'Time': 'Time', 'MicroTime': 'MicroTime', 'Quantity': 'Quantity', 'IntOrString': 'IntOrString'}


def scalar(f, ptr):
    """The Rust value type of a field that is no struct, list or map."""
    opt = lambda x: f'Option<{x}>' if ptr else x
    if 'ref' in f:
        v = VALUES.get(short(f['ref']))
        return 'Raw' if v is None else v if 'Time' in v else opt(v)
    t, fm = f['type'], f.get('format')
    if t == 'string':
        return 'Bytes' if fm == 'byte' else 'OStr' if ptr else 'Str'
    return {'boolean': opt('bool'), 'integer': opt('i64' if fm == 'int64' else 'i32'), 'number': opt('f64')}.get(t, 'Raw')


def rust(f, ptr=False, name=None):
    if 'ref' in f and is_struct(f['ref']):
        p = f'{module(f["ref"])}::{short(f["ref"])}'
        return f'Ptr<{p}>' if ptr else f'Shared<{p}>' if name in SHARED else p
    if 'array' in f:
        return f'List<{rust(f["array"])}>'
    if 'map' in f:
        return f'Map<{rust(f["map"])}>'
    return scalar(f, ptr)


def kind(f, ptr=False):
    """The object::Type of a field."""
    if 'ref' in f and is_struct(f['ref']):
        return f'T::{"Ptr" if ptr else "Struct"}(&{static(f["ref"])})'
    if 'array' in f:
        return f'T::List(&{kind(f["array"])})'
    if 'map' in f:
        return f'T::Map(&{kind(f["map"])})'
    t = scalar(f, ptr)
    return 'T::' + {'bool': 'Bool', 'i32': 'I32', 'i64': 'I64', 'Option<bool>': 'OBool', 'Option<i32>': 'OI32',
            'Option<i64>': 'OI64', 'Option<f64>': 'OF64', 'Option<Quantity>': 'OQuantity',
            'Option<IntOrString>': 'OIntOrString'}.get(t, t)


def raw(f):
    """The type without a shape of its own at the bottom of a field."""
    if 'ref' in f:
        return None if is_struct(f['ref']) or short(f['ref']) in VALUES else f['ref']
    return raw(f['array']) if 'array' in f else raw(f['map']) if 'map' in f else None


def go_named(go, version):
    """The named Go types inside a field's type, as Go's errors print them: []PullPolicy=string -> []v1.PullPolicy."""
    known = {'Quantity': 'resource.Quantity', 'IntOrString': 'intstr.IntOrString', 'RawExtension': 'runtime.RawExtension',
             'UID': 'types.UID'}
    # A named map or list is its name alone: ResourceList=map[ResourceName]Quantity -> v1.ResourceList.
    go = re.sub(r'=(map\[[^\]]*\]|\[\])[\w.]*(=\w+)?', '', go)
    return re.sub(r'\b([A-Z]\w*)(=\w+)?', lambda m: known.get(m.group(1), f'{version}.{m.group(1)}'), go.lstrip('*'))


def text(s):
    return json.dumps(s, ensure_ascii=False)


def texts(l):
    return '&[' + ', '.join(text(x) for x in l) + ']'


LIST_TYPES = {'atomic': 1, 'set': 2, 'map': 3}


def field(name, f, required, version):
    go = f.get('go', '')
    ptr = go.startswith('*')
    omit = f.get('omit')
    # A struct value, Quantity or IntOrString is never empty for Go's omitempty; a nil-able or scalar one is.
    value = 'ref' in f and not ptr and scalar_or_none(f) != 'Raw'
    flags = []
    if omit and ('zero' in omit or not value):
        flags.append('OMIT')
    lt = f.get('listType')
    if lt:
        flags.append({'atomic': 'LIST_ATOMIC', 'set': 'LIST_SET', 'map': 'LIST_MAP'}[lt])
    ps = f.get('patchStrategy', '')
    for word, flag in (('merge', 'PATCH_MERGE'), ('retainKeys', 'PATCH_RETAIN_KEYS'), ('replace', 'PATCH_REPLACE')):
        if word in ps.split(','):
            flags.append(flag)
    if 'mapType' in f:
        flags.append({'atomic': 'MAP_ATOMIC', 'granular': 'MAP_GRANULAR'}[f['mapType']])
    if name in required:
        flags.append('REQUIRED')
    more = []
    if f.get('listMapKeys'):
        more.append(f'M::Keys({texts(f["listMapKeys"])})')
    if f.get('patchMergeKey'):
        more.append(f'M::MergeKey({text(f["patchMergeKey"])})')
    enum = f.get('enum') or f.get('array', {}).get('enum') or f.get('map', {}).get('enum')
    if enum:
        more.append(f'M::Enum({texts(enum)})')
    if 'default' in f:
        more.append(f'M::Default({text(json.dumps(f["default"]))})')
    if '=' in go:
        more.append(f'M::Go({text(go_named(go, version))})')
    if 'inline' in f:
        more.append(f'M::Inline({text(f["inline"])})')
    if raw(f):
        more.append(f'M::Raw({text(raw(f))})')
    return f'f({text(name)}, {kind(f, ptr)}, {" | ".join(flags) or "0"}, &[{", ".join(more)}])'


def scalar_or_none(f):
    return None if is_struct(f['ref']) else scalar(f, False)


def type_source(name):
    t = SCHEMA[name]
    fields = t.get('fields', {})
    names = sorted(fields)
    version = name.split('.')[-2]
    s, st = short(name), static(name).split('::')[1]
    dynamic = is_dynamic(name)
    out = []
    if not dynamic:
        members, rows, used = [], [], set()
        for i, fn in enumerate(names):
            f = fields[fn]
            ptr = f.get('go', '').startswith('*')
            ref = struct_of(f)
            slot = ref is not None and is_dynamic(ref)
            if slot and 'ref' in f and not ptr:
                raise SystemExit(f'{name}.{fn}: a struct value in a typed struct must be typed')
            rn = snake(fn)
            assert rn not in used, (name, rn)
            used.add(rn)
            members.append(f'    pub {rn}: {"Slot" if slot else rust(f, ptr, fn)},')
            rows.append(f'{i} {rn}' + (' slot' if slot else ''))
        out.append('#[derive(Clone, Default)]\npub struct %s {\n%s\n}' % (s, '\n'.join(members)) if members
                   else f'#[derive(Clone, Default)]\npub struct {s} {{}}')
        kind_ = 'kind ' if 'gvk' in t and 'metadata' in fields else ''
        out.append(f'object!({s} {st} {kind_}{{ {", ".join(rows)} }});')
        if 'gvk' in t and fields.get('metadata', {}).get('go') == 'ObjectMeta':
            out.append(f'resource!({s} {kind_static(t["gvk"])});')
    order = t.get('order', [])
    assert sorted(order) == names, name
    out.append(f'pub static {st}: TypeDesc = TypeDesc {{\n    name: {text(name)},\n    fields: &[\n'
               + ''.join(f'        {field(fn, fields[fn], t.get("required", []), version)},\n' for fn in names)
               + f'    ],\n    order: &{[names.index(x) for x in order]},\n    atomic: {str(t.get("mapType") == "atomic").lower()},\n'
               + f'    kind: {"Some(&table::" + kind_static(t["gvk"]) + ")" if "gvk" in t else "None"},\n'
               + f'    typed: {"None" if dynamic else f"Some(new::<{s}>)"},\n}};')
    return '\n'.join(out) + '\n'


def kind_static(gvk):
    p = gvk.split('/')
    group = p[0].split('.')[0] if len(p) == 3 else 'core'
    return f'{group}_{p[-2]}_{snake(p[-1]).rstrip("_")}'.upper()


HEAD = '// @generated by src/api/generate.py from data/schema-1.37.json and data/discovery-1.37.json. Do not edit.\n'


def type_files():
    mods = {}
    for name in sorted(SCHEMA):
        if 'fields' in SCHEMA[name] or is_struct(name):
            mods.setdefault(module(name), []).append(type_source(name))
    files = {}
    for m in sorted(mods):
        files[f'types/{m}.rs'] = HEAD + f'\nuse super::*;\n\n' + '\n'.join(mods[m])
    files['types/mod.rs'] = HEAD + '''//! Kubernetes' types, one module a group and version.
#![allow(missing_docs, unused_imports)]
#![allow(clippy::all)]
use crate::object::{FieldMeta as M, Type as T, *};
use crate::scheme::table;
use crate::value::*;
use crate::dynamic::Slot;

''' + ''.join(f'#[rustfmt::skip]\npub mod {m};\n' for m in sorted(mods))
    return files


def scheme_file():
    kinds = {t['gvk']: n for n, t in SCHEMA.items() if 'gvk' in t}
    own = lambda r: (r['groupVersion'] + '/' + r['kind'])
    rows, statics = [], []
    main = {}
    for r in DISCOVERY:
        if '/' not in r['name']:
            main[own(r)] = r
    for gvk in sorted(kinds):
        n = kinds[gvk]
        p = gvk.split('/')
        group, version, kind_ = (p[0] if len(p) == 3 else ''), p[-2], p[-1]
        r = main.get(gvk)
        subs = []
        if r:
            for s in DISCOVERY:
                if s['groupVersion'] == r['groupVersion'] and s['name'].startswith(r['name'] + '/'):
                    g = s.get('group', group)
                    v = s.get('version', version)
                    subs.append(f'Subresource {{ name: {text(s["name"].split("/")[1])}, group: {text(g)}, version: {text(v)}, '
                                f'kind: {text(s["kind"])}, verbs: {texts(s["verbs"])} }}')
        g = lambda k, d='': r.get(k, d) if r else d
        st = kind_static(gvk)
        statics.append(
            f'pub static {st}: KindInfo = KindInfo {{\n    group: {text(group)},\n    version: {text(version)},\n'
            f'    kind: {text(kind_)},\n    api_version: {text((group + "/" if group else "") + version)},\n'
            f'    plural: {text(g("name"))},\n    singular: {text(g("singularName"))},\n    short_names: {texts(g("shortNames", []))},\n'
            f'    namespaced: {str(bool(g("namespaced", False))).lower()},\n    verbs: {texts(g("verbs", []))},\n'
            f'    categories: {texts(g("categories", []))},\n    subresources: &[{", ".join(subs)}],\n'
            f'    storage_version_hash: {text(g("storageVersionHash"))},\n    desc: &{static(n)},\n}};\n')
        rows.append(((group, version, kind_), st))
    order = []
    for r in DISCOVERY:
        if '/' not in r['name']:
            assert own(r) in kinds, r
            order.append(kind_static(own(r)))
    body = HEAD + '''//! The table of kinds.
#![allow(missing_docs)]
use super::{KindInfo, Subresource};
use crate::types::*;

'''
    body += '\n'.join(statics)
    body += '\n/// Every kind, sorted by group, version, kind.\npub static KINDS: &[&KindInfo] = &[\n' + ''.join(f'    &{s},\n' for _, s in sorted(rows)) + '];\n'
    body += '\n/// Kinds that are resources, in the order of discovery.\npub static RESOURCES: &[&KindInfo] = &[\n' + ''.join(f'    &{s},\n' for s in order) + '];\n'
    return {'scheme/table.rs': body}


def main():
    files = {**type_files(), **scheme_file()}
    stale = []
    for path, body in sorted(files.items()):
        full = os.path.join(ROOT, 'src/api', path)
        old = open(full).read() if os.path.exists(full) else None
        if old != body:
            stale.append(path)
            if '--check' not in sys.argv:
                os.makedirs(os.path.dirname(full), exist_ok=True)
                open(full, 'w').write(body)
    if '--check' in sys.argv and stale:
        sys.exit('stale, run python3 src/api/generate.py: ' + ', '.join(stale))
    print(len(files), 'files', len(stale), 'stale' if '--check' in sys.argv else 'written')


main()
