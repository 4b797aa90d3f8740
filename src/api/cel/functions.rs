//! The table of functions: their overloads as text, and what runs them. An overload that begins with a dot is a method
//! of its first argument. Letters are types to be found out.

use super::eval::{Activation, Eval};
use super::value::Val;
use super::{Env, format, lists, network, operators, quantities, semver, strings, types};

/// A function. It gives nothing where no overload takes the arguments.
pub(super) struct Function {
    name: &'static str,
    overloads: &'static str,
    pub run: fn(&mut Activation, &str, &[Val]) -> Option<Eval>,
}

/// One form of a function.
pub(super) struct Overload {
    pub member: bool,
    pub args: Vec<&'static str>,
    pub result: &'static str,
    /// All of it.
    pub text: &'static str,
}

impl Function {
    pub fn overloads(&self) -> impl Iterator<Item = Overload> {
        self.overloads.split(' ').filter_map(|text| {
            let (args, result) = text.split_once("->")?;
            let own = args.strip_prefix('.');
            Some(Overload { member: own.is_some(), args: types::split(own.unwrap_or(args), ','), result, text })
        })
    }
}

/// A function that an expression may call.
pub(super) fn find(env: &Env, name: &str) -> Option<&'static Function> {
    by_name(name).filter(|_| env.patches || !name.starts_with("jsonpatch."))
}

/// A function.
pub(super) fn by_name(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// Whether it is written as an operator.
pub(super) fn is_operator(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_alphabetic())
}

const ORDERED: &str = "bool,bool->bool int,int->bool int,double->bool int,uint->bool uint,uint->bool uint,double->bool uint,int->bool double,double->bool double,int->bool double,uint->bool string,string->bool bytes,bytes->bool timestamp,timestamp->bool duration,duration->bool";
const PART_OF_TIME: &str = ".timestamp->int .timestamp,string->int";
const PART_OF_BOTH: &str = ".timestamp->int .timestamp,string->int .duration->int";
const OF_ORDERED_LISTS: &str = ".list(int)->int .list(uint)->uint .list(double)->double .list(bool)->bool .list(duration)->duration .list(timestamp)->timestamp .list(string)->string .list(bytes)->bytes";
const SETS: &str = "list(T),list(T)->bool";
const FORMAT: &str = "->format";
const OF_IP: &str = ".ip->bool";

macro_rules! table {
    ($($run:path { $($name:literal: $overloads:expr,)* })*) => {
        &[$($(Function { name: $name, overloads: $overloads, run: $run },)*)*]
    };
}

static FUNCTIONS: &[Function] = table! {
    operators::arithmetic {
        "_+_": "bytes,bytes->bytes double,double->double duration,duration->duration duration,timestamp->timestamp timestamp,duration->timestamp int,int->int list(A),list(A)->list(A) string,string->string uint,uint->uint",
        "_-_": "double,double->double duration,duration->duration int,int->int timestamp,duration->timestamp timestamp,timestamp->duration uint,uint->uint",
        "_*_": "double,double->double int,int->int uint,uint->uint",
        "_/_": "double,double->double int,int->int uint,uint->uint",
        "_%_": "int,int->int uint,uint->uint",
        "-_": "double->double int->int",
        "!_": "bool->bool",
    }
    operators::compare {
        "_<_": ORDERED,
        "_<=_": ORDERED,
        "_>_": ORDERED,
        "_>=_": ORDERED,
        "_==_": "A,A->bool",
        "_!=_": "A,A->bool",
    }
    operators::contained {
        "@in": "A,list(A)->bool A,map(A,B)->bool",
        "size": "bytes->int .bytes->int list(A)->int .list(A)->int map(A,B)->int .map(A,B)->int string->int .string->int",
        "cel.@mapInsert": "map(K,V),K,V->map(K,V) map(K,V),map(K,V)->map(K,V)",
        "_[_]": "list(A),int->A map(A,B),A->B opt(list(A)),int->opt(A) opt(map(A,B)),A->opt(B)",
        "_[?_]": "list(A),int->opt(A) opt(list(A)),int->opt(A) map(A,B),A->opt(B) opt(map(A,B)),A->opt(B)",
        "_?_:_": "bool,A,A->A",
        "@not_strictly_false": "bool->bool",
    }
    operators::convert {
        "bool": "bool->bool string->bool",
        "bytes": "bytes->bytes string->bytes",
        "double": "double->double int->double string->double uint->double",
        "duration": "duration->duration string->duration",
        "dyn": "A->dyn",
        "int": "int->int double->int duration->int string->int timestamp->int uint->int",
        "string": "string->string bool->string bytes->string double->string duration->string int->string timestamp->string uint->string ip->string cidr->string",
        "timestamp": "timestamp->timestamp int->timestamp string->timestamp",
        "type": "A->type(A)",
        "uint": "uint->uint double->uint int->uint string->uint",
    }
    operators::optional {
        "optional.of": "A->opt(A)",
        "optional.ofNonZeroValue": "A->opt(A)",
        "optional.none": "->opt(A)",
        "optional.unwrap": "list(opt(A))->list(A)",
        "value": ".opt(A)->A",
        "hasValue": ".opt(A)->bool",
        "or": ".opt(A),opt(A)->opt(A)",
        "orValue": ".opt(A),A->A",
        "first": ".list(A)->opt(A)",
        "last": ".list(A)->opt(A)",
        "unwrapOpt": ".list(opt(A))->list(A)",
    }
    operators::of_time {
        "getFullYear": PART_OF_TIME,
        "getMonth": PART_OF_TIME,
        "getDayOfYear": PART_OF_TIME,
        "getDayOfMonth": PART_OF_TIME,
        "getDate": PART_OF_TIME,
        "getDayOfWeek": PART_OF_TIME,
        "getHours": PART_OF_BOTH,
        "getMinutes": PART_OF_BOTH,
        "getSeconds": PART_OF_BOTH,
        "getMilliseconds": PART_OF_BOTH,
    }
    strings::of_strings {
        "contains": ".string,string->bool",
        "endsWith": ".string,string->bool",
        "startsWith": ".string,string->bool",
        "matches": "string,string->bool .string,string->bool",
        "find": ".string,string->string",
        "findAll": ".string,string->list(string) .string,string,int->list(string)",
        "charAt": ".string,int->string",
        "lowerAscii": ".string->string",
        "upperAscii": ".string->string",
        "replace": ".string,string,string->string .string,string,string,int->string",
        "split": ".string,string->list(string) .string,string,int->list(string)",
        "substring": ".string,int->string .string,int,int->string",
        "trim": ".string->string",
        "join": ".list(string)->string .list(string),string->string",
        "strings.quote": "string->string",
        "jsonpatch.escapeKey": "string->string",
    }
    strings::formatted {
        "format": ".string,list(dyn)->string",
    }
    lists::of_lists {
        "indexOf": ".string,string->int .string,string,int->int .list(A),A->int",
        "lastIndexOf": ".string,string->int .string,string,int->int .list(A),A->int",
        "isSorted": ".list(int)->bool .list(uint)->bool .list(double)->bool .list(bool)->bool .list(duration)->bool .list(timestamp)->bool .list(string)->bool .list(bytes)->bool",
        "sum": ".list(int)->int .list(uint)->uint .list(double)->double .list(duration)->duration",
        "max": OF_ORDERED_LISTS,
        "min": OF_ORDERED_LISTS,
        "slice": ".list(A),int,int->list(A)",
        "flatten": ".list(list(A))->list(A) .list(dyn),int->list(dyn)",
        "sort": ".list(int)->list(int) .list(uint)->list(uint) .list(double)->list(double) .list(bool)->list(bool) .list(duration)->list(duration) .list(timestamp)->list(timestamp) .list(string)->list(string) .list(bytes)->list(bytes)",
        "@sortByAssociatedKeys": ".list(A),list(int)->list(A) .list(A),list(uint)->list(A) .list(A),list(double)->list(A) .list(A),list(bool)->list(A) .list(A),list(duration)->list(A) .list(A),list(timestamp)->list(A) .list(A),list(string)->list(A) .list(A),list(bytes)->list(A)",
        "lists.range": "int->list(int)",
        "reverse": ".list(A)->list(A)",
        "distinct": ".list(A)->list(A)",
        "sets.contains": SETS,
        "sets.equivalent": SETS,
        "sets.intersects": SETS,
    }
    quantities::of_quantities {
        "quantity": "string->quantity",
        "isQuantity": "string->bool",
        "sign": "quantity->int",
        "asApproximateFloat": ".quantity->double",
        "asInteger": ".quantity->int",
        "isInteger": ".quantity->bool",
        "add": ".quantity,quantity->quantity .quantity,int->quantity",
        "sub": ".quantity,quantity->quantity .quantity,int->quantity",
    }
    semver::of_versions {
        "isGreaterThan": ".quantity,quantity->bool .semver,semver->bool",
        "isLessThan": ".quantity,quantity->bool .semver,semver->bool",
        "compareTo": ".quantity,quantity->int .semver,semver->int",
        "semver": "string->semver string,bool->semver",
        "isSemver": "string->bool string,bool->bool",
        "major": ".semver->int",
        "minor": ".semver->int",
        "patch": ".semver->int",
    }
    network::of_networks {
        "url": "string->url",
        "isURL": OF_ONE,
        "getScheme": ".url->string",
        "getHost": ".url->string",
        "getHostname": ".url->string",
        "getPort": ".url->string",
        "getEscapedPath": ".url->string",
        "getQuery": ".url->map(string,list(string))",
        "ip": "string->ip .cidr->ip",
        "isIP": OF_ONE,
        "ip.isCanonical": OF_ONE,
        "family": ".ip->int",
        "isUnspecified": OF_IP,
        "isLoopback": OF_IP,
        "isLinkLocalMulticast": OF_IP,
        "isLinkLocalUnicast": OF_IP,
        "isGlobalUnicast": OF_IP,
        "cidr": "string->cidr",
        "isCIDR": OF_ONE,
        "containsIP": ".cidr,string->bool .cidr,ip->bool",
        "containsCIDR": ".cidr,string->bool .cidr,cidr->bool",
        "prefixLength": ".cidr->int",
        "masked": ".cidr->cidr",
    }
    format::of_formats {
        "format.named": "string->opt(format)",
        "validate": ".format,string->opt(list(string))",
        "format.dns1123Label": FORMAT,
        "format.dns1123Subdomain": FORMAT,
        "format.dns1035Label": FORMAT,
        "format.qualifiedName": FORMAT,
        "format.dns1123LabelPrefix": FORMAT,
        "format.dns1123SubdomainPrefix": FORMAT,
        "format.dns1035LabelPrefix": FORMAT,
        "format.labelValue": FORMAT,
        "format.uri": FORMAT,
        "format.uuid": FORMAT,
        "format.byte": FORMAT,
        "format.date": FORMAT,
        "format.datetime": FORMAT,
    }
    operators::authorization {
        "path": ".Authorizer,string->PathCheck",
        "group": ".Authorizer,string->GroupCheck",
        "serviceAccount": ".Authorizer,string,string->Authorizer",
        "resource": ".GroupCheck,string->ResourceCheck",
        "subresource": ".ResourceCheck,string->ResourceCheck",
        "namespace": ".ResourceCheck,string->ResourceCheck",
        "name": ".ResourceCheck,string->ResourceCheck",
        "fieldSelector": ".ResourceCheck,string->ResourceCheck",
        "labelSelector": ".ResourceCheck,string->ResourceCheck",
        "check": ".PathCheck,string->Decision .ResourceCheck,string->Decision",
        "errored": ".Decision->bool",
        "error": ".Decision->string",
        "allowed": ".Decision->bool",
        "reason": ".Decision->string",
    }
};

const OF_ONE: &str = "string->bool";
