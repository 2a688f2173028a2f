"""Pages that say what a spec says, in each form and language in which pages were published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from dmlcts.spec.model.operator import (
    MEASURED,
    UNDEFINED,
    Constraint,
    Example,
    Field,
    Operator,
    Support,
    TensorSupport,
)
from dmlcts.spec.pages.compare import compare
from dmlcts.spec.pages.page import read_page

WORDS = {
    "en": {
        "and": "and", "to": "{} to {}", "input": "Input", "output": "Output", "optional": "Optional {}", "array": "Array of {}s",
        "same": "{} must have the same {}.", "alias": "{} may alias {} during binding.", "several": "{} may alias one or more of {} during binding.", "level": "DML_FEATURE_LEVEL_{} and above",
        "introduced": "Here since `DML_FEATURE_LEVEL_{}`.", "type": "Type", "DataType": "*DataType*", "Sizes": "*Sizes*",
        "DimensionCount": "*DimensionCount*", "syntax": "Syntax", "members": "Members", "example": "Example",
        "availability": "Availability", "tensor-constraints": "Tensor constraints", "tensor-support": "Tensor support",
        "head": "Tensor | Kind | Dimension counts | Data types", "words": "Words about it.",
    },
    "es": {
        "and": "y", "to": "De {} a {}", "input": "Entrada", "output": "Resultados", "optional": "{} opcional", "array": "Matriz de {}s",
        "same": "{} deben tener los mismos {}.", "alias": "{} puede crear un alias de {} durante el enlace.",
        "several": "{} puede crear un alias de uno o varios de {} durante el enlace.",
        "level": "DML_FEATURE_LEVEL_{} y posteriores", "introduced": "Desde `DML_FEATURE_LEVEL_{}` .", "type": "Tipo",
        "DataType": "*tipo* de datos", "Sizes": "*tamaños*", "DimensionCount": "*dimensioncount*", "syntax": "Sintaxis",
        "members": "Miembros", "example": "Ejemplo", "availability": "Disponibilidad", "tensor-constraints": "Restricciones",
        "tensor-support": "Compatibilidad", "head": "Tensor | Tipo | Recuentos | Tipos de datos", "words": "Palabras.",
    },
    "it": {
        "and": "e", "to": "da {} a {}", "input": "Input", "output": "Output", "optional": "{} facoltativo", "array": "Matrice di {}",
        "same": "{} devono avere lo stesso {}.", "alias": "{} è autorizzato a eseguire l'alias di {} durante l'associazione.",
        "several": "{} è autorizzato a eseguire l'alias di uno o più di {} durante l'associazione.",
        "level": "DML_FEATURE_LEVEL_{} e versioni successive", "introduced": "Da `DML_FEATURE_LEVEL_{}` .", "type": "Tipo",
        "DataType": "*tipo* di dati", "Sizes": "*dimensioni*", "DimensionCount": "*DimensionCount*", "syntax": "Sintassi",
        "members": "Membri", "example": "Esempio", "availability": "Disponibilità", "tensor-constraints": "Vincoli",
        "tensor-support": "Supporto", "head": "Tensore | Tipo | Conteggi | Tipi di dati", "words": "Parole.",
    },
}  # fmt: skip

C_TYPES = {
    "TENSOR_DESC": "const DML_TENSOR_DESC*", "TENSOR_DESC_ARRAY": "const DML_TENSOR_DESC*", "OPERATOR_DESC": "const DML_OPERATOR_DESC*",
    "OPERATOR_DESC_ARRAY": "const DML_OPERATOR_DESC*", "UINT_ARRAY": "const UINT*", "INT_ARRAY": "const INT*",
    "FLOAT_ARRAY": "const FLOAT*", "SCALE_BIAS": "const DML_SCALE_BIAS*", "SIZE_2D": "DML_SIZE_2D", "SCALAR_UNION": "DML_SCALAR_UNION",
}  # fmt: skip


def render_page(op: Operator, style: str = "en") -> str:
    """A page that says what the spec says, in the form and language of ``style``; its prose is made up."""
    language = style.split()[0] if style != "source" else "en"
    number = iter(range(100, 9999))

    def say(text: Callable[[str], str]) -> str:
        if "beside" not in style:
            return text(language)
        mark = f'"5eed-{next(number)}"'
        english = f'<span class="sxs-lookup"><span data-stu-id={mark}>{text("en")}</span></span>'
        return f"<span data-ttu-id={mark}>{text(language)}</span>{english}"

    def heading(marks: str, anchor: str, text: Callable[[str], str]) -> str:
        return f"\n{marks} {text('en')}" if language == "en" else f'\n{marks} <a name="{anchor}"></a>{say(text)}'

    def part(key: str) -> str:
        return heading("##", key, lambda lang: WORDS[lang][key])

    name = f"DML_{op.name}_OPERATOR_DESC"
    lines = ["---", f"UID: NS:directml.{name}", f"title: {name}"]
    lines += [f"ms.contentlocale: {language}-{language.upper()}"] if language != "en" else []
    lines += ["---", "", f"# {name}" if style != "source" else "## -description", "", say(lambda lang: WORDS[lang]["words"])]
    for entry in op.in_place:
        if entry.basis != MEASURED:
            lines += [
                "",
                say(
                    lambda lang, e=entry: WORDS[lang]["several" if e.together else "alias"].format(
                        f"*{e.output}*", names(e.inputs, lang)
                    )
                ),
            ]
    if style == "source":
        lines += ["", "## -struct-fields"]
        for field in op.fields:
            lines += ["", f"### -field {field.name}", "", f"Type: {marked_up(field)}", "", "Words."]
    else:
        lines += [part("syntax"), "```cpp", f"struct {name}", "{", *(f"  {declared(field)};" for field in op.fields), "};", "```"]
        lines += [part("members")]
        for field in op.fields:
            typed = say(lambda lang, f=field: f"{WORDS[lang]['type']}: {marked_up(f)}")
            lines += ["", f"`{field.name}`", "", typed, "", say(lambda lang: WORDS[lang]["words"])]
    shown = [example for example in op.examples if example.id.startswith("page-")]
    lines += [part("example")] if shown else []
    for example in shown:
        lines += [f"\n### {example.id}\n", "```", *example_lines(example, op), "```"]
    lines += [part("availability"), say(lambda lang: WORDS[lang]["introduced"].format(op.introduced)), part("tensor-constraints")]
    for tensors, properties in said_constraints(op).items():
        stated = say(
            lambda lang, t=tensors, p=properties: WORDS[lang]["same"].format(
                names(t, lang), joined([WORDS[lang][x] for x in p], lang)
            )
        )
        lines += [f"* {stated}"]
    lines += [part("tensor-support")]
    for table in op.support:
        if table.when:
            ((_, values),) = table.when.items()
            lines += [
                heading("###", "-and-".join(map(str, values)).lower(), lambda lang, v=values: joined(list(map(str, v)), lang))
            ]
        if len(op.support) > 1 or table.level != op.introduced:
            anchor = f"dml_feature_level_{table.level}-and-above"
            lines += [heading("####", anchor, lambda lang, t=table: WORDS[lang]["level"].format(t.level))]
        lines += ["| " + WORDS[language]["head"] + " |", "| --- | ---- | :---: | --- |"]
        for row, support in table.tensors.items():
            kind = say(lambda lang, t=table, r=row: kind_word(op.field(r), t, lang))
            counts = say(lambda lang, s=support: counted(s, lang))
            lines += [
                f"| {say(lambda lang, r=row: r)} | {kind} | {counts} | {say(lambda lang, s=support: ', '.join(s.data_types))} |"
            ]
        lines += [""]
    return "\n".join(lines) + "\n"


def joined(words: list[str], language: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {WORDS[language]['and']} {words[-1]}"


def names(tensors: Sequence[str], language: str) -> str:
    return joined([f"*{name}*" for name in tensors], language)


def declared(field: Field) -> str:
    notes = ("_Maybenull_ " if field.optional else "") + (f"_Field_size_({field.count}) " if field.count else "")
    return f"{notes}{field.enum or C_TYPES.get(field.type, field.type)} {field.name}"


def marked_up(field: Field) -> str:
    """The type as member descriptions write it, with emphasis, links and escapes."""
    notes = ("\\_Maybenull\\_ " if field.optional else "") + (f"\\_Field\\_size\\_({field.count}) " if field.count else "")
    plain = field.enum or C_TYPES.get(field.type, field.type)
    if plain.endswith("*"):
        return f"{notes}**const [{plain[6:-1]}](/windows/win32/x)\\***"
    return f"{notes}<b><a href='/x'>{plain}</a></b>" if plain == "FLOAT" else f"{notes}[**{plain}**](/windows/x)"


def kind_word(field: Field, table: Support, language: str) -> str:
    words = WORDS[language]
    array, optional = field.type.endswith("_ARRAY"), field.optional
    if field.optional_since is not None and table.level < field.optional_since:
        optional = False
    kind = words["array"].format(words[field.kind].lower()) if array else words[field.kind]
    return words["optional"].format(kind) if optional else kind


def counted(support: TensorSupport, language: str) -> str:
    low, high = support.dimensions
    return str(low) if low == high else WORDS[language]["to"].format(low, high)


def plainly(constraint: Constraint) -> bool:
    """Whether a page says it in a plain sentence of its constraints section."""
    elements = any("[" in name for name in constraint.tensors)
    always = constraint.when is None and constraint.before is None
    return bool(constraint.same) and always and constraint.basis != MEASURED and not elements


def said_constraints(op: Operator) -> dict[tuple[str, ...], list[str]]:
    found: dict[tuple[str, ...], list[str]] = {}
    for constraint in filter(plainly, op.constraints):
        found.setdefault(constraint.tensors, []).append(str(constraint.same))
    return found


def example_lines(example: Example, op: Operator) -> Iterator[str]:
    for name, value in example.attributes.items():
        enum = op.field(name).enum
        text = f"{{{', '.join(map(str, value))}}}" if isinstance(value, tuple) else f"{enum}_{value}" if enum else value
        yield f"{name}: {text}"
    for name, literal in chain(example.inputs.items(), example.answers["documented"].items()):
        yield f"\n{name}: (Sizes:{{{', '.join(map(str, literal.sizes))}}}, DataType:{literal.data_type})"
        yield nested(list(literal.data), literal.sizes).replace(UNDEFINED, "0") + " // 1, 2 and [3]"


def nested(data: list[object], sizes: Sequence[int]) -> str:
    if not sizes:
        return str(data[0])
    step = len(data) // sizes[0]
    return "[" + ", ".join(nested(data[i * step : (i + 1) * step], sizes[1:]) for i in range(sizes[0])) + "]"


def keys(text: str, op: Operator) -> list[str]:
    """The keys of the differences between a page and a spec."""
    return [difference.key for difference in compare(read_page(text), op)]
