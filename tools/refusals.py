#!/usr/bin/env python3
"""Ask a real cluster what it says of mistaken objects, for the tests of src/api/validation.

    tools/refusals.py record FILE...         answer every question of these files anew (src/api/validation/testdata/asked/,
                                             src/apiserver/testdata/asked/)
    tools/refusals.py widen COUNT FILE...    put COUNT mistakes to each kind and keep those that get a new answer

Needs kubectl and a cluster of the declared version that may be written to: objects that are to be updated are created
and deleted again. Questions are made from a seed: the same every time.

A file holds kinds; each begins with `=== ` and an object in YAML, then `---`, then questions with their answers:

    create {"/spec/handler": "A_b"}          the object with these fields (JSON pointers) set, null removes one
      handler: Invalid value: ...            what is wrong with it, a line each; none: it is accepted
    update {...}                             the object exists and is changed to this; `status` writes the subresource
    default {...}                            what is stored of a new object, as one line of JSON without its metadata

The server's own tests (src/apiserver/testdata/asked/) ask a whole server: their answers have warnings and refusals that
aren't validation's too (`! code message`). No controller may run beside that one: it would change what is there.
"""
import http.client, json, os, random, re, subprocess, sys, time
import yaml

NAMESPACE = 'refusals'
ORDER = ('default', 'create', 'update', 'status')


class Cluster:
    def __init__(self):
        self.proxy = subprocess.Popen(['kubectl', 'proxy', '--port=0', '--append-server-path=false'], stdout=subprocess.PIPE, text=True)
        port = int(self.proxy.stdout.readline().rsplit(':', 1)[1])
        self.http = http.client.HTTPConnection('127.0.0.1', port)
        self.resources = {}

    def ask(self, method, path, body=None):
        text = None if body is None else body if isinstance(body, str) else json.dumps(body)
        self.http.request(method, path, text, {'Content-Type': 'application/json'})
        answer = self.http.getresponse()
        text = answer.read()
        self.warnings = [re.sub(r'^299 - "(.*)"$', r'\1', w).replace('\\"', '"') for w in answer.headers.get_all('Warning') or ()]
        # A server that panicked answers nothing that could be read.
        return (answer.status, json.loads(text or b'{}')) if text[:1] in b'{' else (500, {})

    def path(self, o):
        """The collection that an object belongs to."""
        version = o['apiVersion']
        root = f'/apis/{version}' if '/' in version else f'/api/{version}'
        if root not in self.resources:
            self.resources[root] = self.ask('GET', root)[1]['resources']
        r = next(r for r in self.resources[root] if r['kind'] == o['kind'] and '/' not in r['name'])
        return f'{root}/namespaces/{NAMESPACE}/{r["name"]}' if r['namespaced'] else f'{root}/{r["name"]}'

    def close(self, whole):
        self.ask('DELETE', f'/api/v1/namespaces/{NAMESPACE}')
        if whole:
            namespace = {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': NAMESPACE}}
            self.ask('DELETE', f'/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default')
            self.ask('PUT', f'/api/v1/namespaces/{NAMESPACE}/finalize', {**namespace, 'spec': {'finalizers': []}})
        self.proxy.terminate()


def changed(base, change):
    """The object with the fields of a question set."""
    o = json.loads(json.dumps(base))
    for pointer, value in change.items():
        at, steps = o, [s.replace('~1', '/').replace('~0', '~') for s in pointer.split('/')[1:]]
        for step, following in zip(steps[:-1], steps[1:]):
            at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
        last = steps[-1]
        if isinstance(at, list):
            i = int(last)
            if value is None:
                del at[i]
            elif i < len(at):
                at[i] = value
            else:
                at.append(value)
        elif value is None:
            at.pop(last, None)
        else:
            at[last] = value
    return o


def said(status, answer, warnings=None):
    """The lines of an answer; None for one that isn't validation's, where only those are wanted."""
    more = ['warning: ' + w for w in warnings or ()]
    if status < 300:
        return more
    if status != 422:
        return None if warnings is None else [f'! {status} {answer.get("message")}'.replace('\n', '\\n')] + more
    return [f'{c["field"]}: {c["message"]}'.replace('\n', '\\n') for c in answer.get('details', {}).get('causes', [])] + more


class Kind:
    """One kind's part of a file."""

    def __init__(self, cluster, name, text, whole):
        self.cluster, self.name, self.whole = cluster, name, whole
        self.text, _, questions = text.partition('\n---\n')
        self.base = yaml.safe_load(self.text)
        self.questions = [line for line in questions.split('\n') if line and not line.startswith(' ')]
        self.path = cluster.path(self.base)
        self.live = None

    def exists(self):
        """Creates the object, with its status."""
        if self.live:
            return
        code, live = self.cluster.ask('POST', self.path, self.base)
        if code == 409:
            code, live = self.cluster.ask('GET', f'{self.path}/{self.base["metadata"]["name"]}')
        if code >= 300:
            sys.exit(f"{self.name}: {live.get('message')}")
        if 'status' in self.base:
            time.sleep(0.5)
            live = self.cluster.ask('GET', f'{self.path}/{self.base["metadata"]["name"]}')[1]
            code, answer = self.cluster.ask('PUT', f'{self.path}/{self.base["metadata"]["name"]}/status', {**self.base, 'metadata': live['metadata']})
            if code >= 300:
                sys.exit(f'{self.name}: status: {answer.get("message")}')
        self.live = live

    def answer(self, question):
        verb, _, change = question.partition(' ')
        o = changed(self.base, json.loads(change))
        if verb in ('create', 'default'):
            self.forget()
            code, answer = self.cluster.ask('POST', self.path + '?dryRun=All', o)
            if verb == 'default':
                if code >= 300:
                    sys.exit(f'{self.name}: {question}: {answer.get("message")}')
                for gone in ('apiVersion', 'kind', 'metadata', 'status'):
                    answer.pop(gone, None)
                return [json.dumps(answer, separators=(',', ':'), sort_keys=True, ensure_ascii=False)]
            return self.said(code, answer)
        self.exists()
        one = f'{self.path}/{self.base["metadata"]["name"]}'
        for _ in range(5):
            meta = self.cluster.ask('GET', one)[1]['metadata']
            o.setdefault('metadata', {}).setdefault('resourceVersion', meta['resourceVersion'])
            code, answer = self.cluster.ask('PUT', one + ('/status' if verb == 'status' else '') + '?dryRun=All', o)
            if code != 409:
                break
            del o['metadata']['resourceVersion']
        return self.said(code, answer)

    def said(self, code, answer):
        return said(code, answer, self.cluster.warnings if self.whole else None)

    def forget(self):
        if self.live:
            one = f'{self.path}/{self.base["metadata"]["name"]}'
            self.cluster.ask('DELETE', one + '?gracePeriodSeconds=0')
            # Finalizers of the server's own take their time; where no controller runs, for ever.
            while (found := self.cluster.ask('GET', one))[0] == 200:
                if self.whole:
                    found[1].get('spec', {}).pop('finalizers', None)
                    found[1]['metadata'].pop('finalizers', None)
                    self.cluster.ask('PUT', one, found[1])
                else:
                    time.sleep(0.2)
            self.live = None


STRINGS = ['', 'A_b', 'a.b', 'a/b', 'Other', 'x' * 64, 'a b', '-', 'a', '*', '/x', '10', 'demo.example.com/a', 'https://demo.example.com', '1.2.3.4', 'x' * 260, '10.0.0.0/8', 'kubernetes.io/a', '/a/../b']
NUMBERS = [-1, 0, 1, 70000, 2000000000, 5]


def fields(o, path=''):
    items = o.items() if isinstance(o, dict) else enumerate(o) if isinstance(o, list) else ()
    for k, v in items:
        here = f'{path}/{str(k).replace("~", "~0").replace("/", "~1")}'
        yield here, v
        yield from fields(v, here)


def mistake(base, r, verb):
    """One to three fields set wrongly."""
    out = {}
    for _ in range(r.choice([1, 1, 1, 2, 2, 3])):
        outside = ('/apiVersion', '/kind')
        inside = [(p, v) for p, v in fields(base) if not p.startswith(outside) and p not in ('/metadata', '/spec', '/metadata/name', '/metadata/namespace')
                  and (verb == 'status') == p.startswith('/status')]
        if verb == 'create':
            inside.append(('/metadata/name', base['metadata']['name']))
        if not inside:
            return None
        p, v = r.choice(inside)
        if any(p.startswith(q + '/') or q.startswith(p + '/') for q in out):
            continue
        x = r.random()
        last = p.rsplit('/', 1)[1]
        if x < .2 and not last.isdigit():
            out[p] = None
        elif isinstance(v, bool):
            out[p] = not v
        elif isinstance(v, str):
            out[p] = r.choice(STRINGS) if x < .8 else v + r.choice(['-', 'A', '/', '1', '.x'])
        elif isinstance(v, (int, float)):
            out[p] = r.choice(NUMBERS)
        elif isinstance(v, list):
            out[p] = r.choice([[], v + v[:1], v + v[:1] * 40, [v[0], 'a'] if v and isinstance(v[0], str) else [{}], v + [{}] if v and isinstance(v[0], dict) else ['']])
        elif isinstance(v, dict):
            out[p] = r.choice([{}, {**v, 'A_b!': next(iter(v.values()), '')}]) if last in ('matchLabels', 'labels', 'annotations', 'parameters', 'nodeSelector', 'podFixed') else {}
    return out or None


def kind_of(verb, lines):
    """What is new about an answer: which fields are wrong in which way, whatever the index and the value."""
    shape = []
    for line in lines:
        field, _, message = line.partition(': ')
        field = ''.join(c for c in field if not c.isdigit())
        detail = message.split(': ')[-1]
        if field.startswith('! '):
            field, message = field[:5], message[:40]
        shape.append((verb, field, message.split(':')[0], detail[:60] if 'Invalid' in message or 'Forbidden' in message or 'Required' in message else ''))
    return shape or [(verb, 'accepted')]


def widen(kind, count, seed):
    seen, have = {}, set(kind.questions)
    for q in kind.questions:
        for s in kind_of(q.split(' ')[0], kind.answer(q) or []):
            seen[s] = seen.get(s, 0) + 1
    r = random.Random(seed + kind.name)
    verbs = ['create', 'create', 'update', 'status'] if 'status' in kind.base else ['create', 'create', 'update']
    # New objects first: what is to be updated has to be there.
    for verb in sorted(r.choice(['create'] if '[create]' in kind.name else verbs) for _ in range(count)):
        change = mistake(kind.base, r, verb)
        if not change:
            continue
        question = f'{verb} {json.dumps(change, separators=(",", ":"), ensure_ascii=False)}'
        if question in have or len(question) > 1500:
            continue
        try:
            lines = kind.answer(question)
        except (KeyError, IndexError, TypeError):
            continue
        if lines is None or sum(map(len, lines)) > 4000 or any('compilation failed' in line or 'must evaluate to' in line for line in lines):
            continue
        shape = kind_of(verb, lines)
        most = 4 if shape == [(verb, 'accepted')] else 1
        if all(seen.get(s, 0) >= most for s in shape):
            continue
        for s in shape:
            seen[s] = seen.get(s, 0) + 1
        have.add(question)
        kind.questions.append(question)


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ('record', 'widen'):
        sys.exit(__doc__)
    count, files = (int(sys.argv[2]), sys.argv[3:]) if sys.argv[1] == 'widen' else (0, sys.argv[2:])
    cluster = Cluster()
    whole = all('apiserver' in file for file in files)
    try:
        # The namespace of the last run may still be going.
        while cluster.ask('POST', '/api/v1/namespaces', {'metadata': {'name': NAMESPACE}})[0] != 201:
            time.sleep(1)
        if whole:
            cluster.ask('POST', f'/api/v1/namespaces/{NAMESPACE}/serviceaccounts', {'metadata': {'name': 'default'}})
        for file in files:
            out, total = '', 0
            for part in open(file).read().split('=== ')[1:]:
                name, _, text = part.partition('\n')
                kind = Kind(cluster, name, text, whole)
                try:
                    if count:
                        widen(kind, count, 'tabernetes ')
                    kind.questions.sort(key=lambda q: ORDER.index(q.split(' ')[0]))
                    out += f'=== {name}\n{kind.text}\n---\n'
                    for q in kind.questions:
                        lines = kind.answer(q)
                        if lines is None:
                            print(f'{name}: no answer of validation: {q}', file=sys.stderr)
                            continue
                        out += ''.join(f'{line}\n' for line in [q] + ['  ' + l for l in lines])
                        total += 1
                finally:
                    kind.forget()
            open(file, 'w').write(out)
            print(os.path.basename(file), total, 'answers')
    finally:
        cluster.close(whole)


main()
