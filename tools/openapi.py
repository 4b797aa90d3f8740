#!/usr/bin/env python3
"""Hold /openapi/v3 against a real cluster's.

    tools/openapi.py record          write digests of the cluster's documents to src/apiserver/testdata/openapi.tsv
    tools/openapi.py compare DIR     show where the documents in DIR (`OPENAPI_OUT=DIR cargo test -p tabernetes-apiserver
                                     openapi` writes ours there) differ from the cluster's, with the first differences

Needs kubectl and a cluster of the declared version. Descriptions are left out, but for the phrases of HTTP's codes. A
line holds document, schema or path, its name, and the start of the SHA-256 of its JSON, its fields sorted; `compare`
looks at their order too.
"""
import hashlib, json, os, subprocess, sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
OUT = os.path.join(ROOT, 'src/apiserver/testdata/openapi.tsv')


def get(path):
    return json.loads(subprocess.run(['kubectl', 'get', '--raw', path], capture_output=True, text=True, check=True).stdout)


def stripped(o, within=''):
    if isinstance(o, list):
        return [stripped(x, within) for x in o]
    if not isinstance(o, dict):
        return o
    return {k: stripped(v, 'a response' if within == 'responses' else k) for k, v in o.items()
            if within == 'a response' or k != 'description' or not isinstance(v, str)}


def digest(o):
    return hashlib.sha256(json.dumps(o, separators=(',', ':'), ensure_ascii=False, sort_keys=True).encode()).hexdigest()[:8]


def documents():
    return {path: stripped(get(v['serverRelativeURL'])) for path, v in get('/openapi/v3')['paths'].items()}


def schemas(document):
    return document.get('components', {}).get('schemas', {})


def record():
    lines = set()
    for path, document in documents().items():
        lines.add(f'document\t{path}\t{digest(document)}')
        # These differ from document to document.
        lines |= {f'schema\t{n}\t{digest(s)}' for n, s in schemas(document).items()
                  if not n.endswith(('.DeleteOptions', '.WatchEvent'))}
        lines |= {f'path\t{p}\t{digest(item)}' for p, item in document['paths'].items()}
    open(OUT, 'w').write('\n'.join(sorted(lines)) + '\n')
    print(len(lines), 'lines')


def differences(at, ours, real):
    if type(ours) is not type(real):
        yield at, ours, real
    elif isinstance(real, dict):
        for k in [*real, *(k for k in ours if k not in real)]:
            if k not in ours or k not in real:
                yield f'{at} > {k}', ours.get(k, 'missing'), real.get(k, 'missing')
            else:
                yield from differences(f'{at} > {k}', ours[k], real[k])
        if set(ours) == set(real) and list(ours) != list(real):
            yield at, list(ours), list(real)
    elif isinstance(real, list) and len(ours) == len(real):
        for i, (o, r) in enumerate(zip(ours, real)):
            yield from differences(f'{at}[{i}]', o, r)
    elif ours != real:
        yield at, ours, real


def compare(folder):
    count = 0
    for path, real in documents().items():
        file = os.path.join(folder, path.replace('/', '__'))
        if not os.path.exists(file):
            print('missing:', path)
            continue
        for at, o, r in differences(path, json.load(open(file)), real):
            count += 1
            if count <= 40:
                print(at, '\n  ours', json.dumps(o)[:300], '\n  real', json.dumps(r)[:300])
    print(count, 'differences')


record() if sys.argv[1:] == ['record'] else compare(sys.argv[2])
