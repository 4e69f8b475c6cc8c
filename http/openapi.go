package http

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"afterimage/records"
	"afterimage/web"
)

// object is a part of the description. JSON sorts its keys.
type object = map[string]any

// openAPI describes /api/v1 from the table of operations and the very types
// that the handlers read and write.
func openAPI(baseURL string) ([]byte, error) {
	d := &describer{schemas: object{}}
	d.schemas["Problem"] = d.problem()
	paths := object{}
	for _, op := range operations() {
		item, _ := paths["/api/v1"+op.path].(object)
		if item == nil {
			item = object{}
			paths["/api/v1"+op.path] = item
		}
		item[strings.ToLower(op.method)] = d.operation(op)
	}
	return json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{"title": "Afterimage", "version": "1", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "Times are RFC 3339 in UTC, ids are opaque. Whatever is null is not known, or is not so. Errors are RFC 9457 with a stable code. An image that is not final answers with Retry-After."},
		"servers": []any{object{"url": baseURL}},
		"tags":    []any{},
		"paths":   paths,
		"components": object{"schemas": d.schemas, "securitySchemes": object{
			"key":     object{"type": "http", "scheme": "bearer", "description": "An API key. What an operation needs is its x-scope; images:write implies images:read, ops:write implies ops:read."},
			"session": object{"type": "apiKey", "in": "cookie", "name": "afterimage", "description": "The cookie of the pages; __Host-afterimage over https."},
		}},
	}, "", "  ")
}

// describer collects the schemas that operations refer to.
type describer struct{ schemas object }

func (d *describer) operation(op operation) object {
	o := object{"summary": op.summary, "operationId": operationID(op), "x-scope": op.scope,
		"security": []any{object{"key": []any{}}, object{"session": []any{}}}, "responses": d.responses(op)}
	if op.scope == "person" {
		o["security"] = []any{object{"session": []any{}}}
	}
	var list []any
	for part := range strings.SplitSeq(op.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			list = append(list, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	for _, p := range op.query {
		schema := object{"type": p.kind}
		if p.kind == "date-time" {
			schema = object{"type": "string", "format": p.kind}
		}
		list = append(list, object{"name": p.name, "in": "query", "description": p.about, "schema": schema})
	}
	if op.once {
		list = append(list, object{"name": idempotencyField, "in": "header", "schema": object{"type": "string", "maxLength": maxIdempotency},
			"description": "A repeat with the same key, within a day, returns what the first request made."})
	}
	if list != nil {
		o["parameters"] = list
	}
	if op.body != nil {
		o["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": d.schema(reflect.TypeOf(op.body))}}}
	}
	return o
}

// operationID is the method and the path in one word.
func operationID(op operation) string {
	id := strings.ToLower(op.method)
	for word := range strings.FieldsFuncSeq(op.path, func(r rune) bool { return strings.ContainsRune("/{}_", r) }) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

func (d *describer) responses(op operation) object {
	done := object{"description": http.StatusText(op.status)}
	switch {
	case op.media != "":
		done["content"] = object{op.media: object{"schema": object{"type": "string"}}}
	case op.answer != nil:
		done["content"] = object{"application/json": object{"schema": d.schema(reflect.TypeOf(op.answer))}}
	}
	problem := object{"description": "What went wrong", "content": object{"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}}}}
	return object{strconv.Itoa(op.status): done, "4XX": problem, "5XX": problem}
}

func (d *describer) problem() object {
	schema := d.fields(reflect.TypeFor[problem]())
	var codes, about []any
	for _, c := range problemCodes {
		codes = append(codes, c.code)
		about = append(about, fmt.Sprintf("%s: %s", c.code, c.about))
	}
	schema["properties"].(object)["code"] = object{"type": "string", "enum": codes, "x-meanings": about}
	return schema
}

// schema describes a type; a struct by a reference.
func (d *describer) schema(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[records.Time]():
		return object{"type": []any{"string", "null"}, "format": "date-time"}
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(d.schema(t.Elem()))
	case reflect.Slice:
		return object{"type": "array", "items": d.schema(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.schema(t.Elem())}
	case reflect.Interface:
		return object{}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return named(t)
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Struct:
		name := schemaName(t)
		if d.schemas[name] == nil {
			d.schemas[name] = object{} // against going round in circles
			d.schemas[name] = d.fields(t)
		}
		return object{"$ref": "#/components/schemas/" + name}
	}
	return object{"type": "integer"}
}

// named is a text of which all values are known, or any.
func named(t reflect.Type) object {
	values := []any{}
	switch t {
	case reflect.TypeFor[records.BulkAction]():
		for _, a := range records.BulkActions {
			values = append(values, string(a))
		}
	case reflect.TypeFor[records.Role]():
		values = append(values, string(records.Admin), string(records.Member))
	default:
		return object{"type": "string"}
	}
	return object{"type": "string", "enum": values}
}

func nullable(schema object) object {
	if kind, ok := schema["type"].(string); ok && schema["enum"] == nil {
		schema["type"] = []any{kind, "null"}
		return schema
	}
	return object{"anyOf": []any{schema, object{"type": "null"}}}
}

// schemaName is the type's name without what only we need in it.
func schemaName(t reflect.Type) string {
	name, of, generic := strings.Cut(t.Name(), "[")
	name = strings.TrimSuffix(name, "JSON")
	name = strings.ToUpper(name[:1]) + name[1:]
	if generic {
		of = strings.TrimSuffix(of[strings.LastIndexByte(of, '.')+1:], "]")
		of = strings.TrimSuffix(of, "JSON")
		name = strings.ToUpper(of[:1]) + of[1:] + name
	}
	return name
}

// fields describes a struct. In an answer every field is there; in a request
// none has to be, as far as the form goes.
func (d *describer) fields(t reflect.Type) object {
	properties, required := object{}, []any{}
	request := strings.HasSuffix(t.Name(), "Request") || strings.HasSuffix(t.Name(), "Patch") || t == reflect.TypeFor[importItem]() || t == reflect.TypeFor[imageRef]()
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "" || name == "-" {
			continue
		}
		properties[name] = d.schema(f.Type)
		if !request && !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	schema := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// describe answers with the description.
func (s *Server) describe(w http.ResponseWriter, r *http.Request) {
	s.writeTagged(w, r, json.RawMessage(s.description))
}

// docs shows the description to people.
func (s *Server) docs(w http.ResponseWriter, r *http.Request) {
	view := web.DocsView{Layout: s.layout(r, ""), BaseURL: s.BaseURL}
	for _, op := range operations() {
		o := web.Operation{Method: op.method, Path: "/api/v1" + op.path, Scope: op.scope, Summary: op.summary, Status: op.status}
		for _, p := range op.query {
			o.Query = append(o.Query, web.Term{Name: p.name, About: p.about})
		}
		if op.body != nil {
			o.Body = schemaName(reflect.TypeOf(op.body))
		}
		if op.answer != nil {
			o.Answer = schemaName(reflect.TypeOf(op.answer))
		}
		view.Operations = append(view.Operations, o)
	}
	for _, c := range problemCodes {
		view.Codes = append(view.Codes, web.Term{Name: c.code, Detail: c.status, About: c.about})
	}
	view.Types = schemaTerms()
	s.render(w, r, http.StatusOK, "docs", view)
}

// schemaTerms are the types with their fields, in alphabetical order.
func schemaTerms() (types []web.Type) {
	d := &describer{schemas: object{}}
	for _, op := range operations() {
		d.operation(op)
	}
	for _, name := range slices.Sorted(maps.Keys(d.schemas)) {
		t := web.Type{Name: name}
		properties, _ := d.schemas[name].(object)["properties"].(object)
		for _, field := range slices.Sorted(maps.Keys(properties)) {
			text, err := json.Marshal(properties[field])
			if err != nil {
				continue
			}
			t.Fields = append(t.Fields, web.Term{Name: field, About: strings.ReplaceAll(string(text), "#/components/schemas/", "")})
		}
		types = append(types, t)
	}
	return types
}
